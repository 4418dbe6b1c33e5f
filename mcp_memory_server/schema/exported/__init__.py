"""Lines of an export, and the stored items that they describe."""
