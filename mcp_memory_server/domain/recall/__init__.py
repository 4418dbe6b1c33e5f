"""Searching and ranking memories, and formatting the reply within a token budget."""
