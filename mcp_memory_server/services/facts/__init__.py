"""Learn, end, list and look back at facts, preferences and notes."""
