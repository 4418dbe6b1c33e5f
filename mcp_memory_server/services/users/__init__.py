"""Export, import and erase all data of one user."""
