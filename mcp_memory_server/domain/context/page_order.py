"""The order of memories on the context pages of a conversation.

The order does not depend on the length of a page: a page holds its beginning, and the next page continues it. First
come the name, dangers to health, preferences, upcoming days, and home, work and household; the rest follows by rank.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum, StrEnum
from itertools import chain, islice, zip_longest

from mcp_memory_server.domain.facts.essential_kinds import CAN_HURT, Essential
from mcp_memory_server.domain.facts.fact import Standing
from mcp_memory_server.domain.facts.upcoming import due
from mcp_memory_server.domain.kernel.scope import Owner, OwnerKind
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot, current, is_unexpired
from mcp_memory_server.domain.recall.ranked_memories import Overview

MOST_CHANGES = 8
MOST_IN_ONE_BATCH = 30
"""The last batch of saved memories is shown as "saved last" unless it is larger: then it was an import."""
MOST_NAMES = 2
MOST_DIET = 4
MOST_HOUSEHOLD = 2
MOST_OLDEST = 4
MOST_PER_CATEGORY = 40
"""So many of each category come first. More are rare, and the rest follows by rank."""


class Section(StrEnum):
    """The sections of a page in their order. Dangers to health are never below what is only nice to know."""

    PERSON = "## The user"
    SAFETY = "## Health and diet"
    PREFERENCES = "## Preferences"
    UPCOMING = "## Upcoming"
    AGENT = "## For this agent"
    PROJECT = "## This project"
    TEAM = "## The team"
    SHARED = "## Shared knowledge"
    LAST = "## Saved last"
    FACTS = "## Facts"
    UNCONFIRMED = "## Unconfirmed"
    FEEDBACK = "## Feedback"
    PATTERNS = "## Patterns"


_SECTION_OF_OWNER = {
    OwnerKind.AGENT: Section.AGENT,
    OwnerKind.PROJECT: Section.PROJECT,
    OwnerKind.TEAM: Section.TEAM,
    OwnerKind.SHARED: Section.SHARED,
}
_SECTION_OF_KIND = {
    Kind.PREFERENCE: Section.PREFERENCES,
    Kind.CANDIDATE: Section.UNCONFIRMED,
    Kind.FEEDBACK: Section.FEEDBACK,
    Kind.PATTERN: Section.PATTERNS,
}


class Urgency(IntEnum):
    """How much a page needs an entry. Urgent entries are shortened before they are left out, less urgent ones first.

    SOON is the diet, upcoming days, home, work and household; FIRST is the name and preferences.
    """

    REST = 0
    SOON = 1
    FIRST = 2
    CAN_HURT = 3


@dataclass(frozen=True)
class Entry:
    """A memory and its section on the page; ``label`` says what is special about it there."""

    section: Section
    memory: StoredMemory
    label: str = ""
    urgency: Urgency = Urgency.REST


@dataclass(frozen=True, eq=False)
class Beside:
    """The memories of an owner beside the user, which are on the page too. ``label`` names the owner."""

    owner: Owner
    label: str
    snapshot: UserSnapshot
    overview: Overview
    relevant: Sequence[str] = ()


def entries_in_order(
    snapshot: UserSnapshot,
    overview: Overview,
    now: datetime,
    *,
    relevant: Iterable[str] = (),
    with_recent_changes: bool = True,
    beside: Sequence[Beside] = (),
) -> Iterator[Entry]:
    """Yield all current memories without duplicates; ``relevant`` are sort keys that come before the rest.

    ``with_recent_changes`` adds a section of what was saved last, for a user without an earlier conversation to hand
    off. The memories of owners ``beside`` the user take turns with the rest, but dangers to health that an agent or a
    project of the user knows, and their upcoming days, come first too.
    """
    sections = _Sections(snapshot.by_key, overview, now)
    first = chain(
        sections.names(),
        sections.can_hurt(),
        chain.from_iterable(_urgent(one, now) for one in beside if one.owner.private_to is not None),
        sections.diet(),
        sections.preferences(),
        sections.upcoming,
        sections.circumstances(),
        sections.recent_changes() if with_recent_changes else [],
        sections.more_on_health(),
        sections.more_on_the_person(),
    )
    rest = (_entry_of(snapshot.by_key[sk]) for sk in chain(relevant, overview.best()) if sk in snapshot.by_key)
    duplicates = frozenset(snapshot.by_key[sk].id for sk in overview.duplicates)
    yield from _each_once(chain(first, _in_turn([*map(_rest_of, beside), rest])), duplicates, now)


def _urgent(beside: Beside, now: datetime) -> Iterator[Entry]:
    sections = _Sections(beside.snapshot.by_key, beside.overview, now)
    for entry in chain(sections.can_hurt(), sections.upcoming):
        yield replace(entry, label=", ".join(filter(None, (beside.label, entry.label))))


def _rest_of(beside: Beside) -> Iterator[Entry]:
    rows, named = beside.snapshot.by_key, beside.label != beside.owner.kind.value
    for sk in chain(beside.relevant, beside.overview.best()):
        if sk in rows:
            section = _SECTION_OF_KIND.get(rows[sk].kind)
            # The heading of a section of its own says whose it is, unless there are several.
            label = beside.label if section or named else ""
            yield Entry(section or _SECTION_OF_OWNER[beside.owner.kind], rows[sk], label)


def _in_turn(lists: Sequence[Iterator[Entry]]) -> Iterator[Entry]:
    return (entry for some in zip_longest(*lists) for entry in some if entry is not None)


def _each_once(entries: Iterable[Entry], duplicates: frozenset[str], now: datetime) -> Iterator[Entry]:
    seen = set(duplicates)
    for entry in entries:
        memory = entry.memory
        if memory.id not in seen and (_may_be_past(entry) or current([memory], now)):
            seen.add(memory.id)
            yield entry


def _may_be_past(entry: Entry) -> bool:
    """Check whether the section of the entry also shows past facts: reminders after the day, and what ended last."""
    return entry.section is Section.UPCOMING or (entry.section is Section.LAST and entry.memory.kind is Kind.PAST)


def _entry_of(memory: StoredMemory) -> Entry:
    return Entry(_SECTION_OF_KIND.get(memory.kind, Section.FACTS), memory)


class _Sections:
    """The entries of each section."""

    def __init__(self, rows: Mapping[str, StoredMemory], overview: Overview, now: datetime) -> None:
        self._rows = rows
        self._overview = overview
        self._now = now
        self.upcoming = self._find_upcoming()
        self._labels = {entry.memory.id: entry.label for entry in self.upcoming}

    def names(self) -> Iterator[Entry]:
        for memory in self._best(Essential.NAME)[:MOST_NAMES]:
            yield Entry(Section.PERSON, memory, self._label(memory), Urgency.FIRST)

    def can_hurt(self) -> Iterator[Entry]:
        """Yield the dangers to health, most dangerous first."""
        for category in CAN_HURT:
            for memory in self._best(category):
                yield Entry(Section.SAFETY, memory, self._label(memory), Urgency.CAN_HURT)

    def diet(self) -> Iterator[Entry]:
        for memory in self._best(Essential.DIET)[:MOST_DIET]:
            yield Entry(Section.SAFETY, memory, self._label(memory), Urgency.SOON)

    def preferences(self) -> Iterator[Entry]:
        for memory in self._best(Kind.PREFERENCE, Essential.MANNER):
            yield Entry(Section.PREFERENCES, memory, urgency=Urgency.FIRST)

    def circumstances(self) -> Iterator[Entry]:
        """Yield where the user lives, what they do, and with whom they live: the best of each."""
        home, household = self._home()[:1], self._not_upcoming(self._oldest(Essential.HOUSEHOLD))[:MOST_HOUSEHOLD]
        # If the town is unknown, a fact about the home itself may name it.
        housing = [] if home else self._not_upcoming(self._oldest(Essential.HOME_MORE))[:1]
        for memory in (*home, *self._work()[:1], *household[:1], *housing, *household[1:]):
            yield Entry(Section.PERSON, memory, urgency=Urgency.SOON)

    def more_on_health(self) -> Iterator[Entry]:
        """Yield the rest on diet and health, except appointments, which are among the upcoming days."""
        diets = self._best(Essential.DIET) + self._best(Essential.DIET_OF_OTHERS)
        return (Entry(Section.SAFETY, memory) for memory in diets + self._not_upcoming(self._best(Essential.HEALTH)))

    def more_on_the_person(self) -> Iterator[Entry]:
        """Yield the rest of what says who the user is, one of each kind in turn."""
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

    def _find_upcoming(self) -> list[Entry]:
        found: list[tuple[str, str, Entry]] = []
        for sk in self._overview.near(self._now.date()):
            memory = self._rows[sk]
            if memory.fact is not None and memory.kind is Kind.FACT and is_unexpired(memory, self._now):
                upcoming = due(memory.fact, self._now)
                if upcoming is not None:
                    entry = Entry(Section.UPCOMING, memory, upcoming.label, Urgency.SOON)
                    found.append((upcoming.day.isoformat(), memory.id, entry))
        return [entry for _, _, entry in sorted(found, key=lambda one: one[:2])][:MOST_PER_CATEGORY]

    def recent_changes(self) -> list[Entry]:
        """Return what was saved or ended last, latest first, each with the value that it superseded."""
        changed = [
            self._rows[change.sort_key]
            for change in self._overview.changed_last(MOST_IN_ONE_BATCH)
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

    def _best(self, *categories: Essential | Kind) -> list[StoredMemory]:
        overview = self._overview
        found = (self._rows[sk] for sk in overview.best(*categories) if sk not in overview.duplicates)
        return list(islice((memory for memory in found if current([memory], self._now)), MOST_PER_CATEGORY))

    def _home(self) -> list[StoredMemory]:
        return self._not_upcoming(self._best(Essential.HOME))

    def _work(self) -> list[StoredMemory]:
        return self._not_upcoming(self._best(Essential.WORK) or self._oldest(Essential.WORK_MORE))

    def _not_upcoming(self, memories: Iterable[StoredMemory]) -> list[StoredMemory]:
        return [memory for memory in memories if memory.id not in self._labels]

    def _label(self, memory: StoredMemory) -> str:
        return self._labels.get(memory.id, "")

    def _oldest(self, category: Essential) -> list[StoredMemory]:
        # The first facts about a wide subject are the most informative.
        return sorted(self._best(category), key=lambda memory: memory.since)[:MOST_OLDEST]
