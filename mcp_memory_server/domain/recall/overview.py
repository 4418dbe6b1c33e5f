"""An overview of one user: every memory in its place on a page, kept up to date by moving only what was changed.

Everything is in sorted lists. A change copies them, which is fast, and moves a few entries in the copies: whoever holds
an earlier overview is not disturbed. How much a memory is worth changes over days, and is worked out anew once a day.
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from heapq import merge
from itertools import islice
from typing import NamedTuple, TypeAlias, TypeVar

from mcp_memory_server.domain.facts.essentials import Essential, essential_of
from mcp_memory_server.domain.facts.fact import Standing
from mcp_memory_server.domain.facts.upcoming import LOOKED_AHEAD, REMINDED_FOR, days_near, end_of
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot, current
from mcp_memory_server.domain.recall.ranking import worth

T = TypeVar("T")

Shelf: TypeAlias = Essential | Kind
REBUILT_FROM = 2_000
"""With so many changes at once, sorting everything again is faster."""
PAUSE = timedelta(hours=6)
"""What was saved within one day and without a pause of so long was saved in one go."""

_NO_SHELF = (Kind.SUMMARY, Kind.PAST, Kind.TURN)


class Place(NamedTuple):
    """Where a memory stands among others: what is worth more comes first."""

    worth: tuple[int, float, str]
    sort_key: str


class Day(NamedTuple):
    """A day that a memory is about."""

    day: date
    sort_key: str


class Moment(NamedTuple):
    """A moment at which something happens to a memory."""

    at: datetime
    sort_key: str


class Traits(NamedTuple):
    """What decides where a memory stands."""

    shelf: Shelf | None
    days: Sequence[date]
    ends: datetime | None
    changed: datetime | None


@dataclass(frozen=True, eq=False)
class Overview:
    """The places of all memories as of one day.

    ``ends`` tells when they stop being current, ``changes`` when facts were learned, superseded or ended, ``topics``
    how many facts stand under each path.
    """

    as_of: datetime
    shelves: Mapping[Shelf, list[Place]]
    days: list[Day]
    ends: list[Moment]
    changes: list[Moment]
    topics: Mapping[str, int]
    duplicates: frozenset[str] = frozenset()
    """The sort keys of what says the same as another memory, which speaks for both."""

    def best(self, *shelves: Shelf) -> Iterator[str]:
        """Yield the sort keys of what stands on these shelves, or on all of them, what is worth most first."""
        chosen = [self.shelves[shelf] for shelf in shelves or self.shelves if shelf in self.shelves]
        return (place.sort_key for place in merge(*chosen))

    def near(self, today: date) -> list[str]:
        """Return the sort keys of what is about a day of the next weeks, or of the last few, the soonest first."""
        first = bisect_left(self.days, Day(today - REMINDED_FOR, ""))
        last = bisect_left(self.days, Day(today + LOOKED_AHEAD + timedelta(days=1), ""))
        return list(dict.fromkeys(entry.sort_key for entry in self.days[first:last]))

    def changed_last(self, most: int) -> list[Moment]:
        """Return what was saved or ended in one go most recently, the latest first.

        Nothing if that is everything, or more than so much: then it says nothing of what was last.
        """
        found: list[Moment] = []
        for entry in islice(reversed(self.changes), most):
            if found and (found[0].at - entry.at > timedelta(days=1) or found[-1].at - entry.at > PAUSE):
                break
            found.append(entry)
        return found if len(found) < min(most, len(self.changes)) else []

    def count_at(self, now: datetime) -> int:
        """Return how many memories are current, as far as their ends tell."""
        return (
            sum(map(len, self.shelves.values()))
            - len(self.duplicates)
            - bisect_right(self.ends, now, key=lambda entry: entry.at)
        )


def overview_at(known: UserSnapshot, now: datetime) -> Overview:
    """Return the overview of what is known, worked out now if there is none of today."""
    if not is_ready(known, now):
        known.overviews[:] = [overview_of(known.by_key, _day(now), known.duplicates)]
    return known.overviews[0]


def best_first(known: UserSnapshot, now: datetime) -> list[StoredMemory]:
    """Return the memories in the order in which they are worth knowing without a question, and no history."""
    overview = overview_at(known, now)
    return current((known.by_key[sk] for sk in overview.best() if sk not in overview.duplicates), now)


def is_ready(known: UserSnapshot, now: datetime) -> bool:
    """Tell whether there is an overview of today."""
    return bool(known.overviews) and known.overviews[0].as_of == _day(now)


def overview_of(
    rows: Mapping[str, StoredMemory], as_of: datetime, duplicates: frozenset[str] = frozenset()
) -> Overview:
    """Return the overview of these memories."""
    shelves: defaultdict[Shelf, list[Place]] = defaultdict(list)
    days, ends, changes = list[Day](), list[Moment](), list[Moment]()
    topics: Counter[str] = Counter()
    for sk, memory in rows.items():
        traits = _traits(memory, as_of)
        if traits.shelf is not None:
            shelves[traits.shelf].append(Place(worth(memory, as_of), sk))
            days += [Day(day, sk) for day in traits.days]
            ends += [Moment(traits.ends, sk)] if traits.ends is not None else []
            if memory.topic is not None:
                topics[memory.topic] += 1
        if traits.changed is not None:
            changes.append(Moment(traits.changed, sk))
    for places in (*shelves.values(), days, ends, changes):
        places.sort()
    return Overview(as_of, shelves, days, ends, changes, topics, duplicates)


def updated(overview: Overview, gone: Mapping[str, StoredMemory], new: Mapping[str, StoredMemory]) -> Overview | None:
    """Return the overview of these rows, after some have gone from it and some are new, in it or in their place.

    None if it has to be worked out anew: very much was changed, or something that spoke for others may have gone.
    """
    if len(gone) + len(new) > REBUILT_FROM or (overview.duplicates and not gone.keys() <= new.keys()):
        return None
    draft = _Draft(overview)
    for sk, memory in gone.items():
        draft.take_out(sk, memory)
    for sk, memory in new.items():
        draft.put_in(sk, memory)
    return draft.done()


class _Draft:
    """Copies of an overview's lists, made when they are first changed."""

    def __init__(self, overview: Overview) -> None:
        self._as_of, self._duplicates = overview.as_of, overview.duplicates
        self._shelves = dict(overview.shelves)
        self._copied: set[Shelf] = set()
        self._days, self._ends, self._changes = list(overview.days), list(overview.ends), list(overview.changes)
        self._topics = dict(overview.topics)

    def put_in(self, sk: str, memory: StoredMemory) -> None:
        traits = _traits(memory, self._as_of)
        if traits.shelf is not None:
            insort(self._shelf(traits.shelf), Place(worth(memory, self._as_of), sk))
            for day in traits.days:
                insort(self._days, Day(day, sk))
            if traits.ends is not None:
                insort(self._ends, Moment(traits.ends, sk))
            if memory.topic is not None:
                self._topics[memory.topic] = self._topics.get(memory.topic, 0) + 1
        if traits.changed is not None:
            insort(self._changes, Moment(traits.changed, sk))

    def take_out(self, sk: str, memory: StoredMemory) -> None:
        traits = _traits(memory, self._as_of)
        if traits.shelf is not None:
            _remove(self._shelf(traits.shelf), Place(worth(memory, self._as_of), sk))
            for day in traits.days:
                _remove(self._days, Day(day, sk))
            if traits.ends is not None:
                _remove(self._ends, Moment(traits.ends, sk))
            if memory.topic is not None:
                self._topics[memory.topic] -= 1
                if not self._topics[memory.topic]:
                    del self._topics[memory.topic]
        if traits.changed is not None:
            _remove(self._changes, Moment(traits.changed, sk))

    def done(self) -> Overview:
        places = self._shelves, self._days, self._ends, self._changes
        return Overview(self._as_of, *places, self._topics, self._duplicates)

    def _shelf(self, shelf: Shelf) -> list[Place]:
        if shelf not in self._copied:
            self._copied.add(shelf)
            self._shelves[shelf] = list(self._shelves.get(shelf, ()))
        return self._shelves[shelf]


def _remove(places: list[T], place: T) -> None:
    index = bisect_left(places, place)  # pyright: ignore[reportArgumentType] - named tuples of ordered values
    if index < len(places) and places[index] == place:
        del places[index]


def _traits(memory: StoredMemory, as_of: datetime) -> Traits:
    fact = memory.fact
    if memory.kind in _NO_SHELF:
        ended = fact.valid_to if fact is not None and fact.standing is Standing.PAST else None
        return Traits(None, (), None, ended)
    if fact is None:
        return Traits(memory.kind, (), memory.expires_at, None)
    ends = min((end for end in (memory.expires_at, end_of(fact)) if end is not None), default=None)
    essential = essential_of(memory.topic, memory.text) if memory.kind is Kind.FACT else None
    return Traits(essential or memory.kind, days_near(fact, as_of.date()), ends, fact.valid_from)


def _day(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)
