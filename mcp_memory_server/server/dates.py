"""Dates as people and models write them."""

from datetime import UTC, datetime, time

from mcp_memory_server.errors import InvalidRequestError

_DATE_LENGTH = len("2026-03-02")


def moment_from(text: str) -> datetime:
    """Read a date or a time. A date means the end of that day; a time without a zone is UTC.

    Raises:
        InvalidRequestError: It is neither.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequestError(f"as_of must be a date like 2026-03-02, or a time, got {text[:40]!r}") from None
    if len(text) == _DATE_LENGTH:
        moment = datetime.combine(moment, time.max)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
