"""The search index of one user, in process."""
