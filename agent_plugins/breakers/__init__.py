"""Circuit breakers for tools, the registry of tools, and their status."""
