"""Metrics and spans for OpenTelemetry. Without its SDK they are discarded at almost no cost."""
