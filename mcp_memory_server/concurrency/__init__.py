"""Thread-safe building blocks that know nothing of memories: background threads and one LRU cache."""
