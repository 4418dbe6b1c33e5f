"""The reply of recall: memories as they are returned, the status, and the budget of tokens."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from mcp_memory_server.domain.facts.as_of import learned_later
from mcp_memory_server.domain.facts.fact import Fact
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.recall.likelihood import Likelihood
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, confidence
from mcp_memory_server.errors import InvalidRequestError

SMALLEST_BUDGET = 50
LARGEST_BUDGET = 20_000
SHORTEST_EXCERPT = 40
"""Tokens of a text to which a long memory may be cut."""
CHARACTERS_A_TOKEN = 4
MOST_REPETITIONS = 3
"""The most other dates that are listed for a merged duplicate."""

NEAREST_ONLY = "only the nearest"

Count = Callable[[str], int]

_as_sent = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class Repetition:
    """A duplicate of a returned memory, listed by its id and date only."""

    id: str
    since: str
    origin: str | None

    def to_reply(self) -> dict[str, Any]:
        """Return the duplicate as a part of a reply."""
        return {"id": self.id, "since": self.since} | ({} if self.origin is None else {"from": self.origin})


@dataclass(frozen=True)
class Recollection:
    """One memory as it is returned: short, dated, and with the id by which it can be replaced or forgotten.

    A fact is true ``since`` and ``until`` a day, if these are known, and was ``learned`` on another; one that is
    ``past`` was true until that day at the latest. ``learned_later`` says that the question was about a time before it
    was learned. For turns and summaries ``since`` is when they were said; of other memories only the day they were
    saved is known.

    A turn names its speaker in ``by``, and in ``origin`` its id in the conversation that it was imported from; ``also``
    are its duplicates. ``explained`` are the parts of its score, if they were asked for. ``owner`` says to what it
    belongs if that is not the user: an agent, a project, a team or shared knowledge.
    """

    id: str
    text: str
    kind: Kind
    topic: str | None
    since: str | None
    confidence: float
    by: str | None = None
    origin: str | None = None
    explained: Mapping[str, float] | None = None
    also: tuple[Repetition, ...] = ()
    match: Likelihood | None = None
    until: str | None = None
    learned: str | None = None
    remind_on: str | None = None
    past: bool = False
    learned_later: bool = False
    owner: str | None = None

    def to_reply(self) -> dict[str, Any]:
        """Return the memory as a part of a reply, without default values."""
        entries = {
            "id": self.id,
            "match": None if self.match is None else self.match.value,
            "text": self.text,
            "kind": None if self.kind in (Kind.FACT, Kind.PAST, Kind.TURN) else self.kind.value,
            "topic": self.topic,
            "in": self.owner,
            "past": self.past or None,
            "by": self.by,
            "since": self.since,
            "until": self.until,
            "remind_on": self.remind_on,
            "learned": self.learned,
            "learned_later": self.learned_later or None,
            "confidence": None if self.kind is Kind.TURN else self.confidence,
            "from": self.origin,
            "also": [other.to_reply() for other in self.also] or None,
            "explain": None if self.explained is None else dict(self.explained),
        }
        return {name: value for name, value in entries.items() if value is not None}


@dataclass(frozen=True)
class Recalled:
    """The reply to a question. ``more`` further memories matched and did not fit; ``cursor`` leads to them.

    ``is_nearest_only`` says that none of the memories is likely to answer. It never means that nothing is stored.
    """

    status: Status
    memories: tuple[Recollection, ...]
    more: int = 0
    missing: tuple[str, ...] = ()
    cursor: str | None = None
    is_nearest_only: bool = False

    def to_reply(self) -> dict[str, Any]:
        """Return the reply as plain data."""
        reply: dict[str, Any] = {"status": self.status.value, "memories": [one.to_reply() for one in self.memories]}
        if self.is_nearest_only:
            reply["note"] = NEAREST_ONLY
        if self.more:
            reply["more"] = self.more
        if self.cursor is not None:
            reply["cursor"] = self.cursor
        if self.missing:
            reply["missing"] = list(self.missing)
        return reply


def reply_text(reply: dict[str, Any]) -> str:
    """Return the reply as the text that is sent, which the budget counts."""
    return _as_sent(reply)


def check_budget(max_tokens: int) -> None:
    """Refuse a budget that is too small for any memory, or unreasonably large.

    Raises:
        InvalidRequestError: It is out of range.
    """
    if not SMALLEST_BUDGET <= max_tokens <= LARGEST_BUDGET:
        raise InvalidRequestError(f"max_tokens must be {SMALLEST_BUDGET} to {LARGEST_BUDGET:,}, got {max_tokens}")


def recollection_of(
    memory: StoredMemory,
    now: datetime,
    explained: Mapping[str, float] | None = None,
    repetitions: Sequence[StoredMemory] = (),
    match: Likelihood | None = None,
    *,
    as_of: datetime | None = None,
) -> Recollection:
    """Return the memory as it is returned now; ``repetitions`` are its duplicates, ``match`` is its label.

    ``as_of`` is the time that was asked about, None for the present.
    """
    is_dated = memory.kind in (Kind.TURN, Kind.SUMMARY)
    recollection = Recollection(
        memory.id,
        memory.text,
        memory.kind,
        memory.topic,
        _date_said(memory) if is_dated else None,
        round(confidence(memory, now), 2),
        by=memory.speaker,
        origin=memory.origin,
        explained=explained,
        also=tuple(Repetition(other.id, _date_said(other), other.origin) for other in repetitions[:MOST_REPETITIONS]),
        match=match,
        learned=None if is_dated else _day(memory.since),
    )
    return recollection if memory.fact is None else _with_times(recollection, memory.fact, now, as_of)


def _with_times(recollection: Recollection, fact: Fact, now: datetime, as_of: datetime | None) -> Recollection:
    past = fact.is_over(now)
    return replace(
        recollection,
        since=_day(fact.since),
        until=_day(fact.last_day if past else fact.until),
        remind_on=None if past else _day(fact.remind_on),
        past=past,
        learned_later=as_of is not None and learned_later(fact, as_of),
    )


def _date_said(memory: StoredMemory) -> str:
    at = memory.since
    return at.strftime("%Y-%m-%d %H:%M") if memory.kind is Kind.TURN else at.date().isoformat()


def _day(moment: date | None) -> str | None:
    return None if moment is None else str(moment)[:10]
