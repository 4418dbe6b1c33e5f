"""What is done about files and rows that are damaged."""
