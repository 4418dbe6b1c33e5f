"""Search the memories of one owner, as a part of a recall."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import merge
from itertools import chain
from typing import NamedTuple

from mcp_memory_server.domain.facts.topics import is_under
from mcp_memory_server.domain.kernel.scope import Owner, OwnerKind, Scope
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.language.word_forms import asked_words
from mcp_memory_server.domain.recall.documents import NO_STATISTICS, Match, Statistics
from mcp_memory_server.domain.recall.memories import StoredMemory, UserSnapshot, is_unexpired, unexpired
from mcp_memory_server.domain.recall.past_values_last import with_past_values_last
from mcp_memory_server.domain.recall.priors import rank_key
from mcp_memory_server.domain.recall.ranked_memories import best_first
from mcp_memory_server.domain.recall.replies.answers import MOST_REPETITIONS
from mcp_memory_server.domain.recall.turn_memories import turn_memory_id
from mcp_memory_server.services.conversations.past_turns import PastTurns, TurnPlace
from mcp_memory_server.services.recall.user_index import UserIndex, place_of


@dataclass(frozen=True)
class Sought:
    """What is searched for, in every owner's memories alike."""

    questions: Sequence[tuple[str, Vectors]]
    now: datetime
    limit: int
    topic: str | None
    as_of: datetime | None
    times_returned: Mapping[str, int]
    explain: bool


@dataclass(frozen=True, eq=False)
class Searched:
    """The memories of one owner that were searched. ``label`` names the owner in a reply; None is the user."""

    scope: Scope
    label: str | None
    snapshot: UserSnapshot
    index: UserIndex


class Found(NamedTuple):
    """A match, and the memories in which it was found."""

    match: Match
    source: Searched

    @property
    def public_id(self) -> str:
        """The id under which the memory is returned."""
        place, rows = place_of(self.match.id), self.source.snapshot.by_key
        if place is not None:
            return turn_memory_id(place.session_id, place.turn_id)
        return rows[self.match.id].id if self.match.id in rows else ""


def owner_labels(scope: Scope) -> dict[Owner, str | None]:
    """Return how a reply names each owner of the scope: by its kind, and by its name where there are several."""
    kinds = [owner.kind for owner in scope.readable]
    return {
        owner: None
        if owner.kind is OwnerKind.USER
        else (owner.kind.value if kinds.count(owner.kind) == 1 else owner.label)
        for owner in scope.readable
    }


def statistics_beside(
    indexes: Sequence[UserIndex],
    questions: Sequence[tuple[str, Vectors]],
    asked_at: datetime,
    only: Callable[[UserIndex], Collection[str]] | None = None,
) -> list[Statistics]:
    """Return for each index the statistics of the others, so that all are searched as if they were one."""
    if len(indexes) == 1:
        return [NO_STATISTICS]
    words = {word for text, _ in questions for word in asked_words(text)}
    sizes = [index.statistics(words) for index in indexes]
    samples = [
        index.score_samples(questions, asked_at, only, others)
        for index, others in zip(indexes, _of_others(sizes), strict=True)
    ]
    return _of_others([replace(size, samples=sample) for size, sample in zip(sizes, samples, strict=True)])


def _of_others(each: Sequence[Statistics]) -> list[Statistics]:
    return [sum((*each[:place], *each[place + 1 :]), NO_STATISTICS) for place in range(len(each))]


def search_owner(
    scope: Scope, label: str | None, index: UserIndex, sought: Sought, beside: Statistics
) -> tuple[Searched, list[Found]]:
    """Return what was searched, and the unexpired matches, best first, without duplicates."""
    # The index may hold a later snapshot than the one that the caller read: the later one is used.
    matches, snapshot = index.search(
        sought.questions,
        asked_at=sought.now,
        limit=sought.limit,
        times_returned=sought.times_returned,
        only=only_sought(sought),
        explain=sought.explain,
        few_weak=sought.topic is None,  # a question with a topic wants everything under it
        beside=beside,
    )
    rows, source = snapshot.by_key, Searched(scope, label, snapshot, index)
    found = with_past_values_last(_each_once(matches, rows, sought.now), rows, sought.now)
    return source, [Found(match, source) for match in found]


def said_once(found: Sequence[Found]) -> list[Found]:
    """Return the matches without facts that another owner's memories hold too, in the same standing."""
    seen = set[tuple[object, ...]]()
    kept: list[Found] = []
    for one in found:
        memory = one.source.snapshot.by_key.get(one.match.id)
        if memory is not None and memory.fact is not None:
            statement = (memory.fact.fingerprint, memory.fact.standing, memory.fact.valid_to)
            if statement in seen:
                continue
            seen.add(statement)
        kept.append(one)
    return kept


def best_of_all(
    snapshots: Sequence[tuple[UserSnapshot, str | None]], now: datetime
) -> list[tuple[StoredMemory, str | None]]:
    """Return the current memories of all owners in the order of their rank, each with the label of its owner."""
    ranked = [
        [(memory, label) for memory in unexpired(best_first(snapshot, now), now)] for snapshot, label in snapshots
    ]
    if len(ranked) == 1:
        return ranked[0]
    by_id = dict[str, tuple[StoredMemory, str | None]]()
    for memory, label in merge(*ranked, key=lambda one: rank_key(one[0], now)):
        by_id.setdefault(memory.id, (memory, label))
    return list(by_id.values())


async def with_texts(turns: PastTurns, found: Sequence[Found]) -> list[list[StoredMemory]]:
    """Return the memories of each match, turns with their texts; none if they are gone.

    Stores delete expired items late, and other processes forget: turns are always read again before they are
    returned.
    """
    texts: dict[int, list[StoredMemory]] = {}
    for source in dict.fromkeys(one.source for one in found):
        places_in = [place for place, one in enumerate(found) if one.source is source]
        read = await _with_texts(turns, source, [found[place].match for place in places_in])
        texts.update(zip(places_in, read, strict=True))
    return [texts[place] for place in range(len(found))]


async def _with_texts(turns: PastTurns, source: Searched, found: Sequence[Match]) -> list[list[StoredMemory]]:
    names = [(match.id, *match.also[:MOST_REPETITIONS]) for match in found]
    places = {name: place for name in chain(*names) if (place := place_of(name)) is not None}
    read: Mapping[TurnPlace, StoredMemory] = {}
    if places:
        read = await turns.at(source.scope, places.values(), with_vectors=False)
        source.index.remove([document_id for document_id, place in places.items() if place not in read])

    def memory(name: str) -> StoredMemory | None:
        return read.get(places[name]) if name in places else source.snapshot.by_key.get(name)

    return [[one for name in each if (one := memory(name)) is not None] for each in names]


def only_sought(sought: Sought) -> Callable[[UserIndex], Collection[str]] | None:
    """Return the selection of documents that may be found; None for all."""
    if sought.as_of is None and sought.topic is None:
        return None

    def chosen(user_index: UserIndex) -> Collection[str]:
        rows = user_index.snapshot.by_key
        held = rows.keys() if sought.as_of is None else user_index.held(sought.as_of, rows)
        if sought.topic is None:
            return held
        return {sk for sk in held if sk in rows and is_under(rows[sk].topic, sought.topic)}

    return chosen


def _each_once(matches: Sequence[Match], rows: Mapping[str, StoredMemory], now: datetime) -> list[Match]:
    """Return the unexpired matches without duplicates: a fact with a topic represents the same text without one."""
    unexpired_matches = [match for match in matches if match.id not in rows or is_unexpired(rows[match.id], now)]
    facts = {
        match.id: fact for match in unexpired_matches if match.id in rows and (fact := rows[match.id].fact) is not None
    }
    loose = [document_id for document_id, fact in facts.items() if fact.topic is None]
    if not loose or len(loose) == len(facts):
        return unexpired_matches
    placed = {(fact.fingerprint, fact.standing) for fact in facts.values() if fact.topic is not None}
    duplicates = {one for one in loose if (facts[one].fingerprint, facts[one].standing) in placed}
    return [match for match in unexpired_matches if match.id not in duplicates]
