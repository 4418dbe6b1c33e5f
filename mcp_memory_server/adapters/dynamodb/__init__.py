"""The item table on DynamoDB, or on any service with the same interface."""
