"""The state that the agents of a session share."""
