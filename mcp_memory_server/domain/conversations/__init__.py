"""Conversations: chats, transcripts, the tool log, the importance of turns."""
