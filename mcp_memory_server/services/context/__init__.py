"""Write the page that a conversation starts with."""
