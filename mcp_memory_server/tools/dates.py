"""Dates as people and models write them."""

from contextlib import suppress
from datetime import UTC, date, datetime, time

from mcp_memory_server.errors import InvalidRequestError


def moment_from(text: str, name: str = "as_of") -> datetime:
    """Read a date or a time. A date means the end of that day; a time without a zone is UTC.

    Raises:
        InvalidRequestError: It is neither. The message calls it by this name.
    """
    with suppress(ValueError):
        return datetime.combine(date.fromisoformat(text), time.max, UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequestError(f"{name} must be a date like 2026-03-02, or a time, got {text[:40]!r}") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
