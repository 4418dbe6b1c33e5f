"""Replies of recall: what fits a budget, and where the next one continues."""
