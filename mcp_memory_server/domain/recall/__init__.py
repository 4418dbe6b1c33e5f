"""Recall: documents that are searched, their ranking, and the reply that fits a budget."""
