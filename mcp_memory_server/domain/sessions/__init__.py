"""Running sessions: turns, limits, counters, partitions of hot sessions."""
