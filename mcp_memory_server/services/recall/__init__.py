"""Search the memories of a user and keep the search index current."""
