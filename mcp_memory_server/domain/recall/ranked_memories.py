"""The ranked memories of one user, kept up to date by moving only what was changed.

All of it is sorted lists. An update copies them, which is fast, and moves a few entries in the copies, so that readers
of an earlier overview are not disturbed. The rank of a memory changes over days and is computed once a day.
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from heapq import merge
from itertools import islice
from typing import NamedTuple, TypeAlias, TypeVar

from mcp_memory_server.domain.facts.essential_kinds import Essential
from mcp_memory_server.domain.facts.essentials import essential_of
from mcp_memory_server.domain.facts.fact import Standing
from mcp_memory_server.domain.facts.upcoming import LOOKED_AHEAD, REMINDED_FOR, days_near, end_of
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot, current
from mcp_memory_server.domain.recall.priors import rank_key

T = TypeVar("T")

Category: TypeAlias = Essential | Kind
REBUILT_FROM = 2_000
"""With so many changes at once, building a new overview is faster."""
PAUSE = timedelta(hours=6)
"""Memories saved within one day and without a pause of this length are one batch."""

_UNCATEGORIZED = (Kind.SUMMARY, Kind.PAST, Kind.TURN)


class Ranked(NamedTuple):
    """A memory in a ranked list, best first."""

    rank_key: tuple[int, float, str]
    sort_key: str


class Day(NamedTuple):
    """A day that a memory is about."""

    day: date
    sort_key: str


class Moment(NamedTuple):
    """A moment at which a memory changes its state."""

    at: datetime
    sort_key: str


class Traits(NamedTuple):
    """The properties of a memory that decide its places in the lists."""

    category: Category | None
    days: Sequence[date]
    ends: datetime | None
    changed: datetime | None


@dataclass(frozen=True, eq=False)
class Overview:
    """The ranked lists of all memories as of one day.

    ``ends`` are the moments at which memories stop being current, ``changes`` those at which facts were learned,
    superseded or ended, ``topics`` the number of facts under each path.
    """

    as_of: datetime
    categories: Mapping[Category, list[Ranked]]
    days: list[Day]
    ends: list[Moment]
    changes: list[Moment]
    topics: Mapping[str, int]
    duplicates: frozenset[str] = frozenset()
    """The sort keys of memories whose statement another memory represents."""

    def best(self, *categories: Category) -> Iterator[str]:
        """Yield the sort keys of the memories in these categories, or in all of them, best first."""
        chosen = [
            self.categories[category] for category in categories or self.categories if category in self.categories
        ]
        return (entry.sort_key for entry in merge(*chosen))

    def near(self, today: date) -> list[str]:
        """Return the sort keys of memories about a day of the next weeks or the last few days, soonest first."""
        first = bisect_left(self.days, Day(today - REMINDED_FOR, ""))
        last = bisect_left(self.days, Day(today + LOOKED_AHEAD + timedelta(days=1), ""))
        return list(dict.fromkeys(entry.sort_key for entry in self.days[first:last]))

    def changed_last(self, most: int) -> list[Moment]:
        """Return the latest batch of changes, latest first.

        Nothing if that is everything, or more than ``most``: a batch of that size is an import.
        """
        found: list[Moment] = []
        for entry in islice(reversed(self.changes), most):
            if found and (found[0].at - entry.at > timedelta(days=1) or found[-1].at - entry.at > PAUSE):
                break
            found.append(entry)
        return found if len(found) < min(most, len(self.changes)) else []

    def count_at(self, now: datetime) -> int:
        """Return how many memories are current at this moment."""
        return (
            sum(map(len, self.categories.values()))
            - len(self.duplicates)
            - bisect_right(self.ends, now, key=lambda entry: entry.at)
        )


def overview_of_day(snapshot: UserSnapshot, now: datetime) -> Overview:
    """Return the overview of the snapshot as of today, built now if there is none."""
    if not is_current(snapshot, now):
        snapshot.overviews[:] = [build_overview(snapshot.by_key, _midnight(now), snapshot.duplicates)]
    return snapshot.overviews[0]


def best_first(snapshot: UserSnapshot, now: datetime) -> list[StoredMemory]:
    """Return the current memories in the order of their rank."""
    overview = overview_of_day(snapshot, now)
    return current((snapshot.by_key[sk] for sk in overview.best() if sk not in overview.duplicates), now)


def is_current(snapshot: UserSnapshot, now: datetime) -> bool:
    """Check whether the snapshot has an overview of today."""
    return bool(snapshot.overviews) and snapshot.overviews[0].as_of == _midnight(now)


def build_overview(
    rows: Mapping[str, StoredMemory], as_of: datetime, duplicates: frozenset[str] = frozenset()
) -> Overview:
    """Build the overview of these memories."""
    categories: defaultdict[Category, list[Ranked]] = defaultdict(list)
    days, ends, changes = list[Day](), list[Moment](), list[Moment]()
    topics: Counter[str] = Counter()
    for sk, memory in rows.items():
        traits = _traits(memory, as_of)
        if traits.category is not None:
            categories[traits.category].append(Ranked(rank_key(memory, as_of), sk))
            days += [Day(day, sk) for day in traits.days]
            ends += [Moment(traits.ends, sk)] if traits.ends is not None else []
            if memory.topic is not None:
                topics[memory.topic] += 1
        if traits.changed is not None:
            changes.append(Moment(traits.changed, sk))
    for entries in (*categories.values(), days, ends, changes):
        entries.sort()
    return Overview(as_of, categories, days, ends, changes, topics, duplicates)


def apply_changes(
    overview: Overview, removed: Mapping[str, StoredMemory], added: Mapping[str, StoredMemory]
) -> Overview | None:
    """Return the overview after some memories were removed and some added or replaced.

    None if it has to be rebuilt: too much was changed, or a memory that represented duplicates may be gone.
    """
    if len(removed) + len(added) > REBUILT_FROM or (overview.duplicates and not removed.keys() <= added.keys()):
        return None
    draft = _Draft(overview)
    for sk, memory in removed.items():
        draft.remove(sk, memory)
    for sk, memory in added.items():
        draft.add(sk, memory)
    return draft.done()


class _Draft:
    """Copies of an overview's lists, made when they are first changed."""

    def __init__(self, overview: Overview) -> None:
        self._as_of, self._duplicates = overview.as_of, overview.duplicates
        self._categories = dict(overview.categories)
        self._copied: set[Category] = set()
        self._days, self._ends, self._changes = list(overview.days), list(overview.ends), list(overview.changes)
        self._topics = dict(overview.topics)

    def add(self, sk: str, memory: StoredMemory) -> None:
        traits = _traits(memory, self._as_of)
        if traits.category is not None:
            insort(self._category(traits.category), Ranked(rank_key(memory, self._as_of), sk))
            for day in traits.days:
                insort(self._days, Day(day, sk))
            if traits.ends is not None:
                insort(self._ends, Moment(traits.ends, sk))
            if memory.topic is not None:
                self._topics[memory.topic] = self._topics.get(memory.topic, 0) + 1
        if traits.changed is not None:
            insort(self._changes, Moment(traits.changed, sk))

    def remove(self, sk: str, memory: StoredMemory) -> None:
        traits = _traits(memory, self._as_of)
        if traits.category is not None:
            _remove(self._category(traits.category), Ranked(rank_key(memory, self._as_of), sk))
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
        entries = self._categories, self._days, self._ends, self._changes
        return Overview(self._as_of, *entries, self._topics, self._duplicates)

    def _category(self, category: Category) -> list[Ranked]:
        if category not in self._copied:
            self._copied.add(category)
            self._categories[category] = list(self._categories.get(category, ()))
        return self._categories[category]


def _remove(entries: list[T], entry: T) -> None:
    index = bisect_left(entries, entry)  # pyright: ignore[reportArgumentType] - named tuples of ordered values
    if index < len(entries) and entries[index] == entry:
        del entries[index]


def _traits(memory: StoredMemory, as_of: datetime) -> Traits:
    fact = memory.fact
    if memory.kind in _UNCATEGORIZED:
        ended = fact.valid_to if fact is not None and fact.standing is Standing.PAST else None
        return Traits(None, (), None, ended)
    if fact is None:
        return Traits(memory.kind, (), memory.expires_at, None)
    ends = min((end for end in (memory.expires_at, end_of(fact)) if end is not None), default=None)
    essential = essential_of(memory.topic, memory.text) if memory.kind is Kind.FACT else None
    return Traits(essential or memory.kind, days_near(fact, as_of.date()), ends, fact.valid_from)


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)
