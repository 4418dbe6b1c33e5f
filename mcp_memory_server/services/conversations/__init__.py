"""Append, load, page and end conversations; chats and the tool log."""
