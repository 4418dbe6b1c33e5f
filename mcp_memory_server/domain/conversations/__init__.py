"""Chats, transcripts, the tool log, and the importance of turns."""
