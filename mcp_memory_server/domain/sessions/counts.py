"""How many turns a session has: exact whenever it is asked, although most turns are counted only later.

The rule that every writer keeps and every reader trusts:

1. A turn without a writer was counted by the write that stored it.
2. A turn with a writer is in the counters if its id is not after that writer's mark, or if the writer has no mark.
   Otherwise it is not, and whoever reads adds it.
3. A mark is there before the first turn that depends on it. It moves, and goes, only in the same write that adds to the
   counters what it passes over. That write is made only if the counters are as they were read (their version).
4. A writer never moves its mark over a turn whose write has not ended, and writes no turn under its mark that is not
   after it.
5. A mark that its writer last touched over an hour ago may be taken away by anybody who counts what lies after it. A
   writer therefore stops to use a mark after half an hour. This is the one promise that rests on clocks: those of two
   machines differ, and a request takes, less than the half hour between.

A writer is a process in one session, for as long as it keeps one mark: its name is never used again.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

USED_FOR = timedelta(minutes=30)
ABANDONED_AFTER = timedelta(hours=1)


@dataclass(frozen=True)
class Watermark:
    """Up to which turn a writer's turns are counted, and when that was written."""

    upto: str
    at: datetime


@dataclass(frozen=True)
class Counters:
    """What is counted of a session. Version 0: there are no counters."""

    version: int = 0
    turns: int = 0
    tokens: int = 0
    marks: Mapping[str, Watermark] = field(default_factory=dict[str, Watermark])
    partitions: int = 1
    ended_at: datetime | None = None


@dataclass(frozen=True)
class Line:
    """What counting needs to know of a stored turn."""

    id: str
    tokens: int
    writer: str | None = None


@dataclass(frozen=True)
class KnownCounts:
    """Writers of which the reader knows every turn that they have not counted, and these turns."""

    writers: frozenset[str] = frozenset()
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Amount:
    """So many turns, and the tokens in them."""

    turns: int = 0
    tokens: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.turns + other.turns, self.tokens + other.tokens)


def is_counted(line: Line, counters: Counters) -> bool:
    """Tell whether the counters have this turn."""
    if not counters.version:
        return False
    mark = None if line.writer is None else counters.marks.get(line.writer)
    return mark is None or line.id <= mark.upto


def amount_of(lines: Iterable[Line]) -> Amount:
    """Return how much these are, each turn once."""
    different = {line.id: line for line in lines}
    return Amount(len(different), sum(line.tokens for line in different.values()))


def not_counted(lines: Iterable[Line], counters: Counters) -> Amount:
    """Return how much of these has to be added to the counters."""
    return amount_of(line for line in lines if not is_counted(line, counters))


def uncounted_after(counters: Counters, known: Collection[str] = ()) -> str | None:
    """Return the id after which uncounted turns may lie, None if there are none. Without counters all are uncounted.

    Of the ``known`` writers the caller knows every uncounted turn.
    """
    if not counters.version:
        return ""
    return min((mark.upto for name, mark in counters.marks.items() if name not in known), default=None)


def abandoned(counters: Counters, now: datetime, own: str | None) -> dict[str, Watermark]:
    """Return the marks of writers that are gone."""
    return {name: mark for name, mark in counters.marks.items() if name != own and now - mark.at >= ABANDONED_AFTER}
