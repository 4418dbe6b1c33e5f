"""All memories of one user in one form, for recall and for context pages."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from mcp_memory_server.domain.facts.fact import Fact, Standing, Tombstone, confidence_at
from mcp_memory_server.domain.facts.notes import Note
from mcp_memory_server.domain.facts.preferences import Preference
from mcp_memory_server.domain.facts.topics import is_under
from mcp_memory_server.domain.kernel.vectors import NO_VECTORS, Vectors
from mcp_memory_server.domain.summaries.summary import Summary

if TYPE_CHECKING:
    from mcp_memory_server.domain.recall.ranked_memories import Overview

PREFERENCE_ID_PREFIX = "pref:"
SUMMARY_ID_PREFIX = "sum:"

RECENCY_HALF_LIFE = timedelta(days=180)
USUAL_IMPORTANCE = 0.5


class Kind(StrEnum):
    """The kind of a memory."""

    FACT = "fact"
    CANDIDATE = "candidate"
    PAST = "past"
    PREFERENCE = "preference"
    FEEDBACK = "feedback"
    PATTERN = "pattern"
    TURN = "turn"
    SUMMARY = "summary"


@dataclass(frozen=True)
class StoredMemory:
    """One memory of any kind, with what ranking needs. ``since`` is when it was learned or said.

    ``vectors`` are the stored vectors of the searched text by the models in use. A turn has a ``speaker``, a
    ``session_id``, and in ``origin`` its id in the conversation that it was imported from.
    """

    id: str
    kind: Kind
    text: str
    topic: str | None
    since: datetime
    said_at: datetime
    expires_at: datetime | None
    support: int
    fact: Fact | None = None
    speaker: str | None = None
    session_id: str | None = None
    origin: str | None = None
    importance: float = USUAL_IMPORTANCE
    vectors: Vectors = field(default=NO_VECTORS, compare=False, repr=False)

    @property
    def searched_text(self) -> str:
        """The text that is searched and embedded: a fact is found by its topic, whether its text names it or not."""
        return f"{self.topic}: {self.text}" if self.topic else self.text

    @property
    def is_short(self) -> bool:
        """Whether it gets a fine vector: turns are too many and may be long."""
        return self.kind is not Kind.TURN


@dataclass(frozen=True)
class ChangeSet:
    """The sort keys that were changed after the snapshot with this serial."""

    serial: int
    changed: frozenset[str]


@dataclass(frozen=True, eq=False)
class UserSnapshot:
    """All stored memories of one user at one version. Unreadable items are counted, never silently left out.

    ``by_key`` are the memories under their sort keys, history included; ``forgotten`` the fingerprints of statements
    that must not be returned, with their ``tombstones``. ``legacy`` are the sort keys of facts stored under their topic
    by earlier releases; only these may be duplicates of others. ``by_topic`` are the sort keys under each topic, in
    lower case. A snapshot with a higher ``serial`` was read later. ``activity_count`` is the number of published
    session activities at that time.
    """

    version: object
    by_key: Mapping[str, StoredMemory]
    unreadable: frozenset[str] = frozenset()
    forgotten: frozenset[str] = frozenset()
    tombstones: Mapping[str, Tombstone] = field(default_factory=dict[str, Tombstone])
    legacy: frozenset[str] = frozenset()
    by_topic: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    serial: int = 0
    activity_count: int = 0
    change_sets: tuple[ChangeSet, ...] = ()
    overviews: "list[Overview]" = field(default_factory=list["Overview"], compare=False)
    """The newest overview of these memories, once one was built."""

    def changed_since(self, serial: int) -> frozenset[str] | None:
        """Return the sort keys of all that may have changed since the snapshot with this serial; None if that is
        unknown.
        """
        for place, before in enumerate(self.change_sets):
            if before.serial == serial:
                return frozenset(sk for one in self.change_sets[place:] for sk in one.changed)
        return None

    @property
    def rows(self) -> Collection[StoredMemory]:
        """Every memory as it is stored."""
        return self.by_key.values()

    @property
    def missing(self) -> tuple[str, ...]:
        """Sentences for a reply about what could not be read."""
        return (f"{len(self.unreadable)} stored memories could not be read",) if self.unreadable else ()

    @cached_property
    def memories(self) -> Sequence[StoredMemory]:
        """Memories that were not superseded or ended, without duplicates."""
        rows = [memory for memory in self.rows if memory.kind is not Kind.PAST]
        return without_duplicates(rows) if self.legacy else rows

    @cached_property
    def duplicates(self) -> frozenset[str]:
        """The sort keys of memories whose statement another memory represents."""
        if not self.legacy:
            return frozenset()
        kept = {memory.id for memory in self.memories}
        return frozenset(sk for sk, one in self.by_key.items() if one.kind is not Kind.PAST and one.id not in kept)

    @property
    def past(self) -> list[StoredMemory]:
        """Facts that were superseded or ended."""
        return [memory for memory in self.rows if memory.kind is Kind.PAST]


def from_fact(fact: Fact) -> StoredMemory:
    """Return the fact as a memory."""
    kind = {Standing.CURRENT: Kind.FACT, Standing.CANDIDATE: Kind.CANDIDATE, Standing.PAST: Kind.PAST}[fact.standing]
    return StoredMemory(
        fact.id, kind, fact.text, fact.topic, fact.valid_from, fact.said_at, fact.expires_at, fact.support, fact
    )


def from_preference(preference: Preference) -> StoredMemory:
    """Return the preference as a memory. The prefix of its id says that it is one."""
    return StoredMemory(
        id=PREFERENCE_ID_PREFIX + preference.key,
        kind=Kind.PREFERENCE,
        text=f"{preference.key}: {preference.value}",
        topic=None,
        since=preference.set_at,
        said_at=preference.set_at,
        expires_at=None,
        support=1,
    )


def from_note(note: Note) -> StoredMemory:
    """Return the note as a memory."""
    kind = Kind(note.kind.value)
    return StoredMemory(note.id, kind, note.text, None, note.noted_at, note.noted_at, note.expires_at, 1)


def from_summary(summary: Summary) -> StoredMemory:
    """Return the summary as a memory. The prefix of its id says that it is one, and of what."""
    return StoredMemory(
        id=f"{SUMMARY_ID_PREFIX}{summary.level}:{summary.id}",
        kind=Kind.SUMMARY,
        text=summary.text,
        topic=None,
        since=summary.since,
        said_at=summary.until,
        expires_at=summary.expires_at,
        support=1,
    )


def without_duplicates(memories: Iterable[StoredMemory]) -> list[StoredMemory]:
    """Merge duplicate statements: the same text under a topic and without one is one fact with more support.

    Earlier releases stored one fact per topic. The same text under two topics says two things ("yes" to tea, "yes" to
    coffee), and both are returned.
    """
    memories = list(memories)
    by_statement: defaultdict[object, list[StoredMemory]] = defaultdict(list)
    for memory in memories:
        same = (memory.kind, memory.id if memory.fact is None else memory.fact.fingerprint)
        by_statement[same].append(memory)
    if len(by_statement) == len(memories):
        return memories
    return [memory for group in by_statement.values() for memory in _merged(group)]


def is_unexpired(memory: StoredMemory, now: datetime) -> bool:
    """Check whether a memory has not expired."""
    return memory.expires_at is None or now < memory.expires_at


def unexpired(memories: Iterable[StoredMemory], now: datetime) -> list[StoredMemory]:
    """Return the memories that have not expired."""
    return [memory for memory in memories if is_unexpired(memory, now)]


def by_topic(memories: Mapping[str, StoredMemory]) -> dict[str, frozenset[str]]:
    """Return the sort keys under each topic, in lower case."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for sk, memory in memories.items():
        if memory.topic is not None:
            found[memory.topic.casefold()].add(sk)
    return {topic: frozenset(sort_keys) for topic, sort_keys in found.items()}


def by_topic_after(
    before: Mapping[str, frozenset[str]], removed: Mapping[str, StoredMemory], added: Mapping[str, StoredMemory]
) -> dict[str, frozenset[str]]:
    """Return the sort keys under each topic after these memories were removed and added."""
    after = dict(before)
    for topic, sort_keys in by_topic(removed).items():
        after[topic] = after.get(topic, frozenset()) - sort_keys
    for topic, sort_keys in by_topic(added).items():
        after[topic] = after.get(topic, frozenset()) | sort_keys
    for topic in by_topic(removed):
        if not after[topic]:
            del after[topic]
    return after


def is_past(memory: StoredMemory, now: datetime) -> bool:
    """Check whether a memory is history: superseded, ended, or past its time. It is labelled as such when returned."""
    return memory.fact is not None and memory.fact.is_over(now)


def current(memories: Iterable[StoredMemory], now: datetime) -> list[StoredMemory]:
    """Return the memories that have not expired and are not history."""
    return [memory for memory in memories if is_unexpired(memory, now) and not is_past(memory, now)]


def under_topic(memories: Iterable[StoredMemory], prefix: str) -> list[StoredMemory]:
    """Return the memories under this topic and those below it."""
    return [memory for memory in memories if is_under(memory.topic, prefix)]


def confidence(memory: StoredMemory, now: datetime) -> float:
    """Return the confidence of a memory at this moment. Notes and summaries count like inferences."""
    if memory.fact is not None:
        return confidence_at(memory.fact, now)
    return 1.0 if memory.kind in (Kind.PREFERENCE, Kind.TURN) else 0.6


def recency_of(said_at: datetime, now: datetime) -> float:
    """Return 1 for what was said just now, halved with every half-life."""
    return 0.5 ** (max(now - said_at, timedelta()) / RECENCY_HALF_LIFE)


def _merged(group: list[StoredMemory]) -> list[StoredMemory]:
    """Return one memory per topic; the support of one without a topic is added to the best of the others."""
    if len(group) == 1 or group[0].fact is None:
        return group
    by_topic: dict[str | None, StoredMemory] = {}
    for memory in group:
        topic = memory.topic and memory.topic.casefold()
        by_topic[topic] = _joined(by_topic[topic], memory) if topic in by_topic else memory
    loose = by_topic.get(None)
    # A memory that expires earlier cannot represent it: the statement would disappear with it.
    able = [memory for memory in by_topic.values() if loose and memory.topic and _life(memory) >= _life(loose)]
    if loose is None or not able:
        return list(by_topic.values())
    best = max(able, key=lambda memory: (memory.support, memory.said_at))
    merged = (_joined(memory, loose) if memory is best else memory for memory in by_topic.values())
    return [memory for memory in merged if memory is not loose]


def _joined(one: StoredMemory, other: StoredMemory) -> StoredMemory:
    kept, removed = (one, other) if _life(one) >= _life(other) else (other, one)
    return _with_support_of(kept, removed)


def end_of(memory: StoredMemory) -> datetime | None:
    """Return when a memory expires or becomes history by itself; None if it never does."""
    ends = (memory.expires_at, memory.fact.ends_at if memory.fact is not None else None)
    return min((end for end in ends if end is not None), default=None)


def _life(memory: StoredMemory) -> datetime:
    return end_of(memory) or datetime.max.replace(tzinfo=UTC)


def _with_support_of(memory: StoredMemory, other: StoredMemory) -> StoredMemory:
    support, said_at = memory.support + other.support, max(memory.said_at, other.said_at)
    fact = None if memory.fact is None else replace(memory.fact, support=support, said_at=said_at)
    return replace(memory, support=support, said_at=said_at, fact=fact)
