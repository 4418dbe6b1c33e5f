"""When an appended turn is acknowledged."""

from enum import StrEnum


class Acknowledge(StrEnum):
    """Where a turn is when it is acknowledged."""

    TABLE = "table"
    """In the table. Only when that does not answer in time, in the outbox; the answer then says that it is pending."""
    OUTBOX = "outbox"
    """In the durable outbox, which is delivered to the table a moment later."""
