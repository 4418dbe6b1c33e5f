"""Facts, preferences and notes about a user, and when they are true."""
