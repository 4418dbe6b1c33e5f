"""What one client can take from the others: connections, calls, and records."""
