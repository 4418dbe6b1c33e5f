"""Models of Anthropic, or of any service with the same interface."""
