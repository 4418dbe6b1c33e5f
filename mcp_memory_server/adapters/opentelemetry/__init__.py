"""Measurements and spans in the words of OpenTelemetry. Without its SDK they cost next to nothing and go nowhere."""
