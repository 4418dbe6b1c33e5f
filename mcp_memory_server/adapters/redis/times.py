"""Times as numbers, which is how Redis keeps them."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(when: datetime) -> int:
    """Return a moment in milliseconds."""
    return round(when.timestamp() * 1000)


def microseconds(when: datetime) -> int:
    """Return a moment in microseconds: all of it."""
    return (when - _EPOCH) // timedelta(microseconds=1)


def from_microseconds(number: float) -> datetime:
    """Return the moment of a number of microseconds."""
    return _EPOCH + timedelta(microseconds=number)


def milliseconds(duration: timedelta) -> int:
    """Return a duration in whole milliseconds."""
    return duration // timedelta(milliseconds=1)
