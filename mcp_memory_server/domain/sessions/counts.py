"""The number of turns and tokens of a session: exact at every read, although most turns are counted only later.

A turn is one small write. Its writer adds many turns to the counters with one later write, and its watermark in the
counters says up to which turn id it has done so. A writer is one process in one session for as long as it keeps one
watermark; its name is never used again. Terms: a turn is *deferred* if it names a writer, *uncounted* if it is deferred
and not in the counters yet.

Invariants, kept by every writer and relied on by every reader:

1. A turn without a writer was counted by the write that stored it.
2. A turn with a writer is in the counters if its id is not after that writer's watermark, or if the writer has no
   watermark. Otherwise it is not, and the reader adds it.
3. A watermark exists before the first turn that depends on it. It moves, and is removed, only in the same write that
   adds to the counters the turns it passes. That write requires the version of the counters that was read.
4. A writer never moves its watermark past a turn whose write is in progress or has an unknown outcome, and writes no
   turn whose id is not after the watermark.
5. A writer uses a watermark for five minutes after it last wrote it (`USED_FOR`). Any process may count the turns after
   the watermark of another writer and remove it, if it has seen the watermark unchanged for a quarter of an hour of its
   own (`OBSERVED_SECONDS`), or if the watermark was last written over half an hour ago (`ABANDONED_AFTER`). Only the
   latter relies on clocks: the difference between two machines, plus the duration of a request, must be less than 25
   minutes.

    no watermark --first turn: count it, open a watermark--> deferring --turn: write it deferred--> deferring
         ^                                                     |  30 s or 100 turns: add to the counters, move it
         |                                                     v
         +--quiet, closing or abandoned: count the rest, remove the watermark
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

USED_FOR = timedelta(minutes=5)
ABANDONED_AFTER = timedelta(minutes=30)
OBSERVED_SECONDS = 900.0


@dataclass(frozen=True)
class Watermark:
    """The id up to which a writer has counted its turns, and when it wrote that."""

    upto: str
    at: datetime


@dataclass(frozen=True)
class Counters:
    """The stored counters of a session. Version 0 means that there are none."""

    version: int = 0
    turns: int = 0
    tokens: int = 0
    watermarks: Mapping[str, Watermark] = field(default_factory=dict[str, Watermark])
    partitions: int = 1
    ended_at: datetime | None = None


@dataclass(frozen=True)
class Line:
    """The part of a stored turn that counting needs."""

    id: str
    tokens: int
    writer: str | None = None


@dataclass(frozen=True)
class KnownCounts:
    """Writers of which the reader knows every uncounted turn, and these turns."""

    writers: frozenset[str] = frozenset()
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Amount:
    """A number of turns, and the tokens in them."""

    turns: int = 0
    tokens: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.turns + other.turns, self.tokens + other.tokens)


def is_counted(line: Line, counters: Counters) -> bool:
    """Return whether the counters include this turn."""
    if not counters.version:
        return False
    watermark = None if line.writer is None else counters.watermarks.get(line.writer)
    return watermark is None or line.id <= watermark.upto


def amount_of(lines: Iterable[Line]) -> Amount:
    """Return the sum of these turns, each once."""
    different = {line.id: line for line in lines}
    return Amount(len(different), sum(line.tokens for line in different.values()))


def not_counted(lines: Iterable[Line], counters: Counters) -> Amount:
    """Return the sum of those turns that have to be added to the counters."""
    return amount_of(line for line in lines if not is_counted(line, counters))


def uncounted_after(counters: Counters, known: Collection[str] = ()) -> str | None:
    """Return the id after which uncounted turns may lie, None if there are none. Without counters all are uncounted.

    Of the ``known`` writers the caller knows every uncounted turn.
    """
    if not counters.version:
        return ""
    return min((watermark.upto for name, watermark in counters.watermarks.items() if name not in known), default=None)


def abandoned(counters: Counters, now: datetime, own: str | None) -> dict[str, Watermark]:
    """Return the watermarks that their writers no longer use."""
    return {
        name: watermark
        for name, watermark in counters.watermarks.items()
        if name != own and now - watermark.at >= ABANDONED_AFTER
    }


class ObservedWatermarks:
    """The watermarks of other writers, and since when each was seen as it is."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[Watermark, float]] = {}

    def observe(self, counters: Counters, moment: float) -> None:
        """Note the watermarks as they are now."""
        watermarks = counters.watermarks.items()
        self._seen = {
            name: seen if (seen := self._seen.get(name)) is not None and seen[0] == watermark else (watermark, moment)
            for name, watermark in watermarks
        }

    def unchanged(self, counters: Counters, moment: float, own: str | None) -> dict[str, Watermark]:
        """Return those that their writers no longer use, because they did not change for long enough."""
        return {
            name: watermark
            for name, (watermark, since) in self._seen.items()
            if name != own and moment - since >= OBSERVED_SECONDS and counters.watermarks.get(name) == watermark
        }
