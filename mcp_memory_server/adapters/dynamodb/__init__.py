"""The item table on DynamoDB, or on anything that answers like its client."""
