"""Dead letters in a queue of Amazon SQS, or of anything that answers like its client."""
