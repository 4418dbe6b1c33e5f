"""In which order memories come on the pages that a conversation starts with.

The order does not depend on how long a page is: a page holds its beginning, and the next page goes on from there. First
come the name, what can hurt, preferences, what comes up, and home, work and household; whatever is left comes by its
worth.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum
from itertools import chain, islice, zip_longest

from mcp_memory_server.domain.facts.essentials import CAN_HURT, Essential
from mcp_memory_server.domain.facts.fact import Standing
from mcp_memory_server.domain.facts.upcoming import due
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot, current, is_unexpired
from mcp_memory_server.domain.recall.overview import Overview

MOST_CHANGES = 8
MOST_IN_ONE_GO = 30
"""What was saved in one go is told as what was last, unless it was more: then somebody imported it."""
MOST_NAMES = 2
MOST_DIET = 4
MOST_HOUSEHOLD = 2
MOST_OLDEST = 4
PLACES_OF_A_SECTION = 40
"""So many of each kind come first. More of a kind is rare, and the rest of it comes by its worth."""


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


_SECTION_OF_KIND = {
    Kind.PREFERENCE: Section.PREFERENCES,
    Kind.CANDIDATE: Section.UNCONFIRMED,
    Kind.FEEDBACK: Section.FEEDBACK,
    Kind.PATTERN: Section.PATTERNS,
}


class Urgency(IntEnum):
    """How much a page needs an entry. What is urgent is shortened before it is left out, what comes soon before others.

    SOON is the diet, what comes up, home, work and household; FIRST is the name and preferences.
    """

    REST = 0
    SOON = 1
    FIRST = 2
    CAN_HURT = 3


@dataclass(frozen=True)
class Entry:
    """A memory and the section in which it is shown; ``label`` says what is special about it there."""

    section: Section
    memory: StoredMemory
    label: str = ""
    urgency: Urgency = Urgency.REST


def in_order(
    known: UserSnapshot,
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
    first = chain(
        shelf.names(),
        shelf.can_hurt(),
        shelf.diet(),
        shelf.preferences(),
        shelf.coming,
        shelf.circumstances(),
        shelf.changes() if tells_changes else [],
        shelf.more_on_health(),
        shelf.more_on_the_person(),
    )
    rest = (_entry_of(known.by_key[sk]) for sk in chain(relevant, overview.best()) if sk in known.by_key)
    duplicates = frozenset(known.by_key[sk].id for sk in overview.duplicates)
    yield from _each_once(chain(first, rest), duplicates, now)


def _each_once(entries: Iterable[Entry], duplicates: frozenset[str], now: datetime) -> Iterator[Entry]:
    seen = set(duplicates)
    for entry in entries:
        memory = entry.memory
        if memory.id not in seen and (_may_be_past(entry) or current([memory], now)):
            seen.add(memory.id)
            yield entry


def _may_be_past(entry: Entry) -> bool:
    """Tell whether the entry says by itself that something is over, or a reminder outlives what it is about."""
    return entry.section is Section.UPCOMING or (entry.section is Section.LAST and entry.memory.kind is Kind.PAST)


def _entry_of(memory: StoredMemory) -> Entry:
    return Entry(_SECTION_OF_KIND.get(memory.kind, Section.FACTS), memory)


class _Shelves:
    """What stands in the sections."""

    def __init__(self, rows: Mapping[str, StoredMemory], overview: Overview, now: datetime) -> None:
        self._rows = rows
        self._overview = overview
        self._now = now
        self.coming = self._coming()
        self._labels = {entry.memory.id: entry.label for entry in self.coming}

    def names(self) -> Iterator[Entry]:
        for memory in self._best(Essential.NAME)[:MOST_NAMES]:
            yield Entry(Section.PERSON, memory, self._label(memory), Urgency.FIRST)

    def can_hurt(self) -> Iterator[Entry]:
        """Yield what does harm if it is not known, the most dangerous first."""
        for shelf in CAN_HURT:
            for memory in self._best(shelf):
                yield Entry(Section.SAFETY, memory, self._label(memory), Urgency.CAN_HURT)

    def diet(self) -> Iterator[Entry]:
        for memory in self._best(Essential.DIET)[:MOST_DIET]:
            yield Entry(Section.SAFETY, memory, self._label(memory), Urgency.SOON)

    def preferences(self) -> Iterator[Entry]:
        for memory in self._best(Kind.PREFERENCE, Essential.MANNER):
            yield Entry(Section.PREFERENCES, memory, urgency=Urgency.FIRST)

    def circumstances(self) -> Iterator[Entry]:
        """Yield where the user lives, what they do, and with whom they live: the best of each."""
        home, household = self._home()[:1], self._not_near(self._oldest(Essential.HOUSEHOLD))[:MOST_HOUSEHOLD]
        # Where nothing says in which town the home is, what is said of the home itself may.
        housing = [] if home else self._not_near(self._oldest(Essential.HOME_MORE))[:1]
        for memory in (*home, *self._work()[:1], *household[:1], *housing, *household[1:]):
            yield Entry(Section.PERSON, memory, urgency=Urgency.SOON)

    def more_on_health(self) -> Iterator[Entry]:
        """Yield the rest on diet and health. An appointment that comes up is among what comes up."""
        diets = self._best(Essential.DIET) + self._best(Essential.DIET_OF_OTHERS)
        return (Entry(Section.SAFETY, memory) for memory in diets + self._not_near(self._best(Essential.HEALTH)))

    def more_on_the_person(self) -> Iterator[Entry]:
        """Yield the rest of what says who the user is, one of each thing in turn."""
        kinds = (
            self._best(Essential.NAME),
            self._home(),
            self._work(),
            self._oldest(Essential.HOUSEHOLD),
            self._oldest(Essential.HOME_MORE),
            self._best(Essential.BORN),
        )
        in_turns = (memory for some in zip_longest(*kinds) for memory in some if memory is not None)
        return (Entry(Section.PERSON, memory) for memory in in_turns)

    def _coming(self) -> list[Entry]:
        found: list[tuple[str, str, Entry]] = []
        for sk in self._overview.near(self._now.date()):
            memory = self._rows[sk]
            if memory.fact is not None and memory.kind is Kind.FACT and is_unexpired(memory, self._now):
                coming = due(memory.fact, self._now)
                if coming is not None:
                    entry = Entry(Section.UPCOMING, memory, coming.label, Urgency.SOON)
                    found.append((coming.day.isoformat(), memory.id, entry))
        return [entry for _, _, entry in sorted(found, key=lambda one: one[:2])][:PLACES_OF_A_SECTION]

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

    def _best(self, *shelves: Essential | Kind) -> list[StoredMemory]:
        overview = self._overview
        found = (self._rows[sk] for sk in overview.best(*shelves) if sk not in overview.duplicates)
        return list(islice((memory for memory in found if current([memory], self._now)), PLACES_OF_A_SECTION))

    def _home(self) -> list[StoredMemory]:
        return self._not_near(self._best(Essential.HOME))

    def _work(self) -> list[StoredMemory]:
        return self._not_near(self._best(Essential.WORK) or self._oldest(Essential.WORK_MORE))

    def _not_near(self, memories: Iterable[StoredMemory]) -> list[StoredMemory]:
        return [memory for memory in memories if memory.id not in self._labels]

    def _label(self, memory: StoredMemory) -> str:
        return self._labels.get(memory.id, "")

    def _oldest(self, shelf: Essential) -> list[StoredMemory]:
        # What was said first of a wide subject tells most about it.
        return sorted(self._best(shelf), key=lambda memory: memory.since)[:MOST_OLDEST]
