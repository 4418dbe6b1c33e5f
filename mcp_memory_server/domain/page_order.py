"""In which order memories come on the pages that a conversation starts with.

The order does not depend on how long a page is: a page holds its beginning, and the next page goes on from there. The
sections take turns, so that even a short page has something of each; whatever is left comes by its worth.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain, islice, zip_longest

from mcp_memory_server.domain.essentials import Essential
from mcp_memory_server.domain.facts import Standing
from mcp_memory_server.domain.memories import Kind, Known, KnownMemory, current, is_alive
from mcp_memory_server.domain.overview import Overview
from mcp_memory_server.domain.upcoming import due

MOST_CHANGES = 8
MOST_IN_ONE_GO = 30
"""What was saved in one go is told as what was last, unless it was more: then somebody imported it."""
MOST_UPCOMING = 12
PLACES_OF_A_SECTION = 40
"""So many of each section take turns. A section of more is rare, and the rest of it comes by its worth."""


class Section(StrEnum):
    """The sections of a page, in their order. What can hurt is never below what is only nice to know."""

    PERSON = "## The user"
    SAFETY = "## Health and diet"
    PREFERENCES = "## Preferences"
    UPCOMING = "## Upcoming"
    LAST = "## Saved last"
    FACTS = "## Facts"
    UNCONFIRMED = "## Unconfirmed"
    FEEDBACK = "## Feedback"
    PATTERNS = "## Patterns"


_TURNS: Sequence[Mapping[Section, int]] = (
    {Section.PERSON: 4, Section.SAFETY: 4, Section.PREFERENCES: 3, Section.UPCOMING: 3, Section.LAST: 2},
    {Section.SAFETY: 4, Section.PERSON: 2, Section.PREFERENCES: 4, Section.UPCOMING: 3, Section.LAST: 3},
    {Section.SAFETY: 4, Section.PREFERENCES: 8, Section.UPCOMING: 6, Section.LAST: 3},
)
_SECTION_OF_KIND = {
    Kind.PREFERENCE: Section.PREFERENCES,
    Kind.CANDIDATE: Section.UNCONFIRMED,
    Kind.FEEDBACK: Section.FEEDBACK,
    Kind.PATTERN: Section.PATTERNS,
}


@dataclass(frozen=True)
class Entry:
    """A memory and the section in which it is told; ``label`` says what is special about it there."""

    section: Section
    memory: KnownMemory
    label: str = ""


def in_order(
    known: Known,
    overview: Overview,
    now: datetime,
    *,
    relevant: Iterable[str] = (),
    tells_changes: bool = True,
) -> Iterator[Entry]:
    """Yield everything that is current, each statement once; ``relevant`` are sort keys that come before the rest.

    ``tells_changes`` has what was saved last told in a section of its own: where nothing else says what was last.
    """
    shelf = _Shelves(known.by_key, overview, now)
    coming = shelf.coming()
    near = frozenset(entry.memory.id for entry in coming)
    sections = {
        Section.PERSON: [entry for entry in shelf.person() if entry.memory.id not in near],
        Section.SAFETY: list(shelf.safety(near)),
        Section.PREFERENCES: shelf.entries(Section.PREFERENCES, Kind.PREFERENCE, Essential.MANNER),
        Section.UPCOMING: coming,
        Section.LAST: shelf.changes() if tells_changes else [],
    }
    rest = (_entry_of(known.by_key[sk]) for sk in chain(relevant, overview.best()) if sk in known.by_key)
    repeated = frozenset(known.by_key[sk].id for sk in overview.repeated)
    yield from _each_once(chain(_in_turns(sections), rest), repeated, now)


def _in_turns(sections: Mapping[Section, Sequence[Entry]]) -> Iterator[Entry]:
    left = {section: iter(entries) for section, entries in sections.items()}
    for turn in _TURNS:
        for section, count in turn.items():
            yield from islice(left[section], count)


def _each_once(entries: Iterable[Entry], repeated: frozenset[str], now: datetime) -> Iterator[Entry]:
    seen = set(repeated)
    for entry in entries:
        memory = entry.memory
        if memory.id not in seen and (_may_be_past(entry) or current([memory], now)):
            seen.add(memory.id)
            yield entry


def _may_be_past(entry: Entry) -> bool:
    """Tell whether the entry says by itself that something is over, or a reminder outlives what it is about."""
    return entry.section is Section.UPCOMING or (entry.section is Section.LAST and entry.memory.kind is Kind.PAST)


def _entry_of(memory: KnownMemory) -> Entry:
    return Entry(_SECTION_OF_KIND.get(memory.kind, Section.FACTS), memory)


class _Shelves:
    """What stands in the sections."""

    def __init__(self, rows: Mapping[str, KnownMemory], overview: Overview, now: datetime) -> None:
        self._rows = rows
        self._overview = overview
        self._now = now

    def entries(self, section: Section, *shelves: Essential | Kind) -> list[Entry]:
        return [Entry(section, memory) for memory in self._best(*shelves)]

    def person(self) -> Iterator[Entry]:
        """Yield the best of each thing that says who the user is, then the second of each."""
        home = self._best(Essential.HOME) or self._oldest(Essential.HOME_MORE)
        work = self._best(Essential.WORK) or self._oldest(Essential.WORK_MORE)
        in_turns = zip_longest(self._best(Essential.NAME), home, work, self._best(Essential.HOUSEHOLD))
        return (Entry(Section.PERSON, memory) for some in in_turns for memory in some if memory is not None)

    def safety(self, near: frozenset[str]) -> Iterator[Entry]:
        """Yield what can hurt, the most dangerous first. An appointment that comes up is told there."""
        for shelf in (Essential.REACTION, Essential.CONDITION, Essential.CONDITION_OF_OTHERS, Essential.HEALTH):
            for memory in self._best(shelf):
                if shelf is not Essential.HEALTH or memory.id not in near:
                    yield Entry(Section.SAFETY, memory)

    def coming(self) -> list[Entry]:
        found: list[tuple[str, str, Entry]] = []
        for sk in self._overview.near(self._now.date()):
            memory = self._rows[sk]
            if memory.fact is not None and memory.kind is Kind.FACT and is_alive(memory, self._now):
                coming = due(memory.fact, self._now)
                if coming is not None:
                    entry = Entry(Section.UPCOMING, memory, coming.label)
                    found.append((coming.day.isoformat(), memory.id, entry))
        return [entry for _, _, entry in sorted(found, key=lambda one: one[:2])][:MOST_UPCOMING]

    def changes(self) -> list[Entry]:
        """Return what was saved or ended last, the latest first; what something took the place of goes with it."""
        changed = [
            self._rows[change.sort_key]
            for change in self._overview.changed_last(MOST_IN_ONE_GO)
            if change.sort_key in self._rows
        ]
        before = {
            memory.fact.superseded_by: memory
            for memory in changed
            if memory.fact is not None and memory.fact.standing is Standing.PAST and memory.fact.superseded_by
        }
        entries: list[Entry] = []
        for memory in changed:
            fact = memory.fact
            if fact is None:
                continue
            if memory.kind is Kind.FACT:
                earlier = before.get(fact.fingerprint) if before else None
                entries.append(Entry(Section.LAST, memory, "" if earlier is None else f"before: {earlier.text}"))
            elif memory.kind is Kind.PAST and fact.superseded_by is None:
                entries.append(Entry(Section.LAST, memory, "no longer true"))
        return entries[:MOST_CHANGES]

    def _best(self, *shelves: Essential | Kind) -> list[KnownMemory]:
        return [self._rows[sk] for sk in islice(self._overview.best(*shelves), PLACES_OF_A_SECTION)]

    def _oldest(self, shelf: Essential) -> list[KnownMemory]:
        # What was said first under a wide topic tells most about it.
        return sorted(self._best(shelf), key=lambda memory: memory.since)[:2]
