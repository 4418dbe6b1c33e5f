"""The page that a conversation starts with, and the hand-off from earlier conversations."""
