"""Models of Amazon Bedrock, or of any service with the same interface."""
