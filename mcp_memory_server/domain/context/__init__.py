"""The context page at the start of a conversation, and the hand-off from earlier conversations."""
