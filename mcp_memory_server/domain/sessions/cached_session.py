"""What a session memory tells about a session."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from mcp_memory_server.domain.kernel.text import compact_json
from mcp_memory_server.domain.kernel.ulids import is_ulid
from mcp_memory_server.domain.sessions.limits import Limits, Weight, trimmed
from mcp_memory_server.domain.sessions.turns import Turn
from mcp_memory_server.errors import InvalidRequestError


@dataclass(frozen=True)
class Appended:
    """What appending did. ``turn_id`` is the id that the turn got; ``trimmed`` made way for it."""

    turn_id: str
    count: int
    tokens: int
    repeated: bool = False
    trimmed: tuple[Turn, ...] = ()


@dataclass(frozen=True)
class CachedSession:
    """The turns at hand, oldest first, with what is counted and summed up of the whole session.

    ``tokens`` are those of the turns at hand, ``total_tokens`` those of every turn that there has been, ``count`` of
    them. ``gap`` is the id of the newest turn that is not at hand: every later one is; "" if none was left out.
    """

    turns: tuple[Turn, ...]
    count: int
    tokens: int
    total_tokens: int
    summary: str | None = None
    gap: str = ""


@dataclass(frozen=True)
class CacheMiss:
    """There is no copy that may be served. With the token one may be filled, if the session has settled."""

    token: str
    may_be_filled: bool


@dataclass(frozen=True)
class SharedState:
    """What the agents of a session share, and how often it was written."""

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


def within(limits: Limits, copy: CachedSession) -> CachedSession:
    """Return the copy without the turns that make way, so that the rest keeps the limits."""
    gone = set(trimmed([Weight(turn.token_count, turn.importance) for turn in copy.turns], limits))
    if not gone:
        return copy
    kept = tuple(turn for place, turn in enumerate(copy.turns) if place not in gone)
    gap = max(copy.gap, copy.turns[max(gone)].id)
    return replace(copy, turns=kept, tokens=sum(turn.token_count for turn in kept), gap=gap)


def joined(copy: CachedSession, more: Iterable[Turn]) -> CachedSession:
    """Return the copy with those of these turns that it lacks, counted."""
    known = {turn.id for turn in copy.turns}
    # What is older than a gap may be one that made way, and is counted already.
    new = [turn for turn in more if turn.id not in known and turn.id > copy.gap]
    tokens = sum(turn.token_count for turn in new)
    return replace(
        copy,
        turns=tuple(sorted([*copy.turns, *new], key=lambda turn: turn.id)),
        count=copy.count + len(new),
        tokens=copy.tokens + tokens,
        total_tokens=copy.total_tokens + tokens,
    )
