"""The stores of sessions and the outbox on Redis, or on anything that speaks its protocol and runs its scripts."""
