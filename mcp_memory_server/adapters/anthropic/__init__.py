"""Models of Anthropic, or of anything that answers like them."""
