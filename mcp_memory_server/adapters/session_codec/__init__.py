"""The text form of a turn: the same in the session cache, in every outbox and in every dead letter queue."""
