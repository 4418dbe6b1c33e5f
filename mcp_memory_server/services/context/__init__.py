"""The context page at the start of a conversation."""
