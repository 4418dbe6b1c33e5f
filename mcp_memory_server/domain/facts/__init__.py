"""Facts, preferences and notes: what is known about a user, and when it holds."""
