"""Learn, end and query facts, preferences and notes."""
