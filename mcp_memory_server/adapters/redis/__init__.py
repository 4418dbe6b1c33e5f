"""The session memory on Redis, or on anything that speaks its protocol and runs its scripts."""
