"""Answers: what was found, whether that is all of it, and how it is written so that it fits the reader's budget."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import chain
from typing import Any

from mcp_memory_server.domain.facts.as_of import learned_later
from mcp_memory_server.domain.facts.fact import Fact
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.kernel.text import ever_shorter
from mcp_memory_server.domain.language.excerpts import excerpt
from mcp_memory_server.domain.recall.cursors import LONGEST_CURSOR, Place
from mcp_memory_server.domain.recall.likelihood import Likelihood
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, confidence
from mcp_memory_server.errors import InvalidRequestError

SMALLEST_BUDGET = 50
LARGEST_BUDGET = 20_000
MOST_MISSES = 8
"""After so many memories that were too long for the room that is left, looking for a shorter one is not worth it."""
SHARE_OF_ONE = 8
SHORTEST_EXCERPT = 40
"""One memory takes an eighth of a reply's tokens, or forty if that is more. The rest of a longer one is left out."""
SHORTEST_LAST = 20
"""The last memory of a reply is cut further, to the room that is left, if that is enough for so many tokens of text."""
CHARACTERS_A_TOKEN = 4
MOST_AGAIN = 3
"""Of what was said again and again, so many other times are told."""
TOKENS_A_JOINT = 1
"""Memories are counted apart. Where they meet in the reply, it takes no more tokens than these on top."""

NEAREST_ONLY = "only the nearest"

Count = Callable[[str], int]

_as_sent = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class Repetition:
    """Another time at which the very same was said: a memory of its own, told by its id and date alone."""

    id: str
    since: str
    origin: str | None

    def to_reply(self) -> dict[str, Any]:
        """Return what a reader gets."""
        return {"id": self.id, "since": self.since} | ({} if self.origin is None else {"from": self.origin})


@dataclass(frozen=True)
class Recollection:
    """One memory as it is told: short, dated, and with its id, by which it can be replaced or forgotten.

    A fact is true ``since`` and ``until`` a day, as far as that is known, and was ``learned`` on another; what is
    ``past`` held until that day at the latest. ``learned_later`` marks an answer about a time before it was learned.
    Of turns and summaries ``since`` is when it was said; of everything else only the day it was saved is known.

    What was said in a conversation tells ``by`` whom, and in ``origin`` what it was called where it came from;
    ``also`` are the other times at which it was said. ``explained`` are the parts of its score, for who asked for them.
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

    def to_reply(self) -> dict[str, Any]:
        """Return what a reader gets, without what goes without saying."""
        entries = {
            "id": self.id,
            "match": None if self.match is None else self.match.value,
            "text": self.text,
            "kind": None if self.kind in (Kind.FACT, Kind.PAST, Kind.TURN) else self.kind.value,
            "topic": self.topic,
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
    """The answer to a question. ``more`` further memories also matched and did not fit; ``cursor`` leads to them.

    ``is_nearest_only`` says that none of the memories is likely to answer. That never means that nothing is stored.
    """

    status: Status
    memories: tuple[Recollection, ...]
    more: int = 0
    missing: tuple[str, ...] = ()
    cursor: str | None = None
    is_nearest_only: bool = False

    def to_reply(self) -> dict[str, Any]:
        """Return what a reader gets."""
        reply: dict[str, Any] = {"status": self.status.value, "memories": [told.to_reply() for told in self.memories]}
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
    """Return the reply as it is sent: this is what a budget of tokens counts."""
    return _as_sent(reply)


def check_budget(max_tokens: int) -> None:
    """Refuse a budget in which nothing useful can be said, or that no reader has.

    Raises:
        InvalidRequestError: It is out of range.
    """
    if not SMALLEST_BUDGET <= max_tokens <= LARGEST_BUDGET:
        raise InvalidRequestError(f"max_tokens must be {SMALLEST_BUDGET} to {LARGEST_BUDGET:,}, got {max_tokens}")


def told(
    memory: StoredMemory,
    now: datetime,
    explained: Mapping[str, float] | None = None,
    again: Sequence[StoredMemory] = (),
    match: Likelihood | None = None,
    *,
    as_of: datetime | None = None,
) -> Recollection:
    """Return the memory as it is told now; ``again`` are those that say the same, ``match`` how likely it answers.

    ``as_of`` is the time that was asked for, if that was not the present.
    """
    was_said = memory.kind in (Kind.TURN, Kind.SUMMARY)
    recollection = Recollection(
        memory.id,
        memory.text,
        memory.kind,
        memory.topic,
        _when_said(memory) if was_said else None,
        round(confidence(memory, now), 2),
        by=memory.speaker,
        origin=memory.origin,
        explained=explained,
        also=tuple(Repetition(other.id, _when_said(other), other.origin) for other in again[:MOST_AGAIN]),
        match=match,
        learned=None if was_said else _day(memory.since),
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


def _when_said(memory: StoredMemory) -> str:
    at = memory.since
    return at.strftime("%Y-%m-%d %H:%M") if memory.kind is Kind.TURN else at.date().isoformat()


def _day(moment: date | None) -> str | None:
    return None if moment is None else moment.isoformat()[:10]


class Reply:
    """A reply that is filled with memories, the best first, as long as the whole of it keeps its budget.

    A long text is told by the part that has to do with the question, so that one memory does not take the room of ten.
    """

    def __init__(self, answer: Recalled, found: int, asked: Collection[str], count: Count, max_tokens: int) -> None:
        """So many memories were ``found``; ``asked`` are the words of the question."""
        self._answer = answer
        self._count = count
        self._max_tokens = max_tokens
        self._asked = asked
        self._longest = max(SHORTEST_EXCERPT, max_tokens // SHARE_OF_ONE) * CHARACTERS_A_TOKEN
        self._alone = replace(answer, memories=(), more=max(found - 1, 0))
        self._room = max_tokens - count(reply_text(self._alone.to_reply()))
        # It is not known yet, and takes its room.
        self._room_for_a_cursor = count(_cursor_text(LONGEST_CURSOR))
        self._told: list[Recollection] = []
        self.is_full = False

    def add(self, memory: Recollection) -> bool:
        """Tell one more memory, shortened where that is needed; False if there is no room for it."""
        for text in chain(self._shorter(memory.text), self._last(memory)):
            fitting = memory if text is memory.text else replace(memory, text=text)
            cost = self._count(reply_text(fitting.to_reply())) + TOKENS_A_JOINT
            if cost <= self._room - self._room_for_a_cursor or (not self._told and self._fits_alone(fitting)):
                self._told.append(fitting)
                self._room -= cost
                return True
        self.is_full = True
        return False

    def _fits_alone(self, memory: Recollection) -> bool:
        # Exactly, and without a cursor or a note: the first memory is worth more than those.
        for answer in (self._answer, replace(self._answer, is_nearest_only=False)):
            alone = replace(self._alone, memories=(memory,), is_nearest_only=answer.is_nearest_only)
            if self._count(reply_text(alone.to_reply())) <= self._max_tokens:
                self._answer = answer
                return True
        return False

    def ended(self, more: int, place: Place) -> Recalled:
        """Return the reply, with so many more left out, to a question whose earlier answers ended at this place."""
        for told in (self._told[:length] for length in range(len(self._told), 0, -1)):
            left = more + len(self._told) - len(told)
            reply = replace(self._answer, memories=tuple(told), more=left)
            leads_on = replace(reply, cursor=place.cursor_after(len(told), told[-1].id)) if left else reply
            for fitting in (leads_on, reply) if len(told) == 1 else (leads_on,):
                if self._fits(fitting):
                    return fitting
        return replace(self._answer, more=more + len(self._told), is_nearest_only=False)

    def _fits(self, reply: Recalled) -> bool:
        """Tell whether the reply keeps the budget. It is counted as a whole only if that may be close."""
        cursor = 0 if reply.cursor is None else self._count(_cursor_text(reply.cursor))
        if cursor + TOKENS_A_JOINT * len(self._told) <= self._room:
            return True
        return self._count(reply_text(reply.to_reply())) <= self._max_tokens

    def _shorter(self, text: str) -> Iterator[str]:
        """Yield what may stand for the text: a part that is not too long; if nothing else is told yet, ever less."""
        first = excerpt(text, self._asked, self._longest)
        yield first
        if len(first) > SHORTEST_EXCERPT * CHARACTERS_A_TOKEN:
            yield excerpt(text, self._asked, SHORTEST_EXCERPT * CHARACTERS_A_TOKEN)
        if not self._told:
            yield from ever_shorter(excerpt(text, self._asked, SHORTEST_EXCERPT * CHARACTERS_A_TOKEN))

    def _last(self, memory: Recollection) -> Iterator[str]:
        """Yield what may stand for a text for which there is no room: a part that takes what is left."""
        frame = self._count(reply_text(replace(memory, text="").to_reply())) + TOKENS_A_JOINT
        left = self._room - self._room_for_a_cursor - frame
        # Some texts have fewer characters a token than usual.
        for tokens in (left, left * 3 // 4, left // 2):
            if tokens >= SHORTEST_LAST:
                yield excerpt(memory.text, self._asked, tokens * CHARACTERS_A_TOKEN)


def _cursor_text(cursor: str) -> str:
    return f'"cursor":"{cursor}",'
