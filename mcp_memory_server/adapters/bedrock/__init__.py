"""Models of Amazon Bedrock, or of anything that answers like it."""
