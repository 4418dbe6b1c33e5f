"""A running session as the session cache holds it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from mcp_memory_server.domain.kernel.text import compact_json
from mcp_memory_server.domain.kernel.ulids import is_ulid
from mcp_memory_server.domain.sessions.limits import Limits, Tier, Weight, trimmed
from mcp_memory_server.domain.sessions.turns import Turn
from mcp_memory_server.errors import InvalidRequestError


@dataclass(frozen=True)
class CacheContext:
    """What a write to the session cache depends on, besides the session and the turn."""

    tier: Tier
    limits: Limits
    now: datetime
    epoch: int


@dataclass(frozen=True)
class Appended:
    """The result of appending a turn. ``turn_id`` is its final id; ``trimmed`` are the turns that it evicted.

    ``token`` is that of the cached session that counts it, "" if there is none.
    """

    turn_id: str
    count: int
    tokens: int
    repeated: bool = False
    trimmed: tuple[Turn, ...] = ()
    token: str = field(default="", compare=False)


@dataclass(frozen=True)
class CachedSession:
    """The cached turns, oldest first, with the counters and the summary of the whole session.

    ``tokens`` is the sum over the cached turns; ``count`` and ``total_tokens`` cover every turn of the session.
    ``gap`` is the id of the newest turn that is not cached: every later one is. It is "" if none is left out.
    ``token`` names the cached session from its beginning until it is lost.
    """

    turns: tuple[Turn, ...]
    count: int
    tokens: int
    total_tokens: int
    summary: str | None = None
    gap: str = ""
    token: str = field(default="", compare=False)


@dataclass(frozen=True)
class CacheMiss:
    """No cached session may be used. With the token the session may be filled, if it has settled.

    The filler has to know which turns the table holds from ``oldest_recorded`` on, "" if no turn was recorded.
    """

    token: str
    may_be_filled: bool
    oldest_recorded: str = ""


@dataclass(frozen=True)
class StoredIds:
    """The ids of all turns that the table holds after ``since``, apart from those given with them."""

    since: str = ""
    ids: frozenset[str] = frozenset()


@dataclass(frozen=True)
class SharedState:
    """The value that the agents of a session share, and how often it was written."""

    value: Any
    version: int


def state_text(value: object) -> str:
    """Return a shared state as text.

    Raises:
        InvalidRequestError: It is not plain data.
    """
    try:
        return compact_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"the shared state must be plain data: {error}") from None


def check_after(after: str | None) -> None:
    """Refuse what a turn cannot be sorted after: anything but a ULID, or "" for nothing."""
    if after and not is_ulid(after):
        raise InvalidRequestError(f"a turn is sorted after a ULID, got {after!r}")


def within(limits: Limits, session: CachedSession) -> CachedSession:
    """Return the session without the turns that have to be evicted to keep the limits."""
    evicted = set(trimmed([Weight(turn.token_count, turn.importance) for turn in session.turns], limits))
    if not evicted:
        return session
    kept = tuple(turn for place, turn in enumerate(session.turns) if place not in evicted)
    gap = max(session.gap, session.turns[max(evicted)].id)
    return replace(session, turns=kept, tokens=sum(turn.token_count for turn in kept), gap=gap)


def joined(session: CachedSession, more: Iterable[Turn]) -> CachedSession:
    """Return the session with these turns, which it has not counted yet."""
    new = tuple(more)
    if not new:
        return session
    tokens = sum(turn.token_count for turn in new)
    return replace(
        session,
        turns=tuple(sorted([*session.turns, *new], key=lambda turn: turn.id)),
        count=session.count + len(new),
        tokens=session.tokens + tokens,
        total_tokens=session.total_tokens + tokens,
    )
