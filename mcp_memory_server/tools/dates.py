"""Parse times as people and models write them."""

from contextlib import suppress
from datetime import UTC, date, datetime, time

from mcp_memory_server.domain.facts.dates import last_day


def moment_from(text: str, name: str = "as_of") -> datetime:
    """Parse a time, or the last moment of a date, a month or a year. A time without a zone is UTC.

    Raises:
        InvalidRequestError: It is none of these. The message names the argument.
    """
    with suppress(ValueError):
        return datetime.combine(date.fromisoformat(text), time.max, UTC)
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return datetime.combine(last_day(name, text), time.max, UTC)
