"""Summarize sessions that are over, and fold old summaries."""
