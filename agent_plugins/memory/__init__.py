"""The memory for agents of any framework."""
