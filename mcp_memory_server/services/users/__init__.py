"""Export, import and erase everything of one user."""
