"""Dead letters in a queue of Amazon SQS, or of any service with the same interface."""
