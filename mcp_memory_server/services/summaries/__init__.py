"""Sum up sessions that are over and fold old summaries."""
