"""The clock. Decisions take the time as an argument; this is what the edges of the program pass."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the time of day in UTC."""
    return datetime.now(UTC)
