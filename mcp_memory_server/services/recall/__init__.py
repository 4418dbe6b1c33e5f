"""Search the memories of a user."""
