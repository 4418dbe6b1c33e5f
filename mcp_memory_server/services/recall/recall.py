"""Recall: return the memories that answer a question, within a budget of tokens."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from mcp_memory_server.domain.facts.topics import checked_prefix, is_under, same_topic
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.kernel.text import checked_text
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.language.aspects import aspects_of
from mcp_memory_server.domain.language.word_forms import asked_words
from mcp_memory_server.domain.recall.answers import (
    MOST_REPETITIONS,
    Recalled,
    Recollection,
    check_budget,
    recollection_of,
)
from mcp_memory_server.domain.recall.cursors import Position, position_from
from mcp_memory_server.domain.recall.documents import Match
from mcp_memory_server.domain.recall.likelihood import Likelihood, likelihood
from mcp_memory_server.domain.recall.memories import (
    Kind,
    StoredMemory,
    UserSnapshot,
    is_past,
    is_unexpired,
    under_topic,
    unexpired,
)
from mcp_memory_server.domain.recall.overview import best_first
from mcp_memory_server.domain.recall.past_values import with_past_values_last
from mcp_memory_server.domain.recall.question_forms import without_owner
from mcp_memory_server.domain.recall.reply_builder import ReplyBuilder
from mcp_memory_server.domain.recall.turn_memories import is_withheld, turn_memory_id
from mcp_memory_server.errors import NotFoundError
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.schema.keys import fact_key
from mcp_memory_server.services.conversations.past_turns import PastTurns, TurnPlace
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache
from mcp_memory_server.services.recall.access_counts import AccessCounts
from mcp_memory_server.services.recall.index_registry import IndexRegistry
from mcp_memory_server.services.recall.nearby_turns import NearbyTurns
from mcp_memory_server.services.recall.user_index import UserIndex, place_of

MAX_QUESTION_BYTES = 8 * 1024
DEFAULT_MAX_TOKENS = 800
SHORTEST_MEMORY = 25
"""The fewest tokens of a memory in a reply: its id, date and confidence alone take almost as many."""
FEWEST_RANKED, MOST_RANKED = 40, 100
MOST_RETURNED = 500
"""The most memories that can be reached with cursors. A more precise question finds the rest."""
READ_AT_ONCE = 16
"""The number of turns whose texts are read from the table together."""

SIMILAR_FROM, SIMILAR_UNDER_A_TOPIC, MOST_SIMILAR, MOST_COMPARED = 0.62, 0.5, 3, 10
"""The cosine from which on two facts are about the same thing: 9 in 10 pairs of versions of one fact reach it, hardly
any other pair does. Facts under one topic need less. At most so many are returned, of so many compared."""

NO_MEANING = "the model for embeddings did not answer: found by words alone"


@dataclass(frozen=True)
class _Asked:
    """A question and its parameters."""

    scope: Scope
    question: str
    now: datetime
    max_tokens: int
    topic: str | None
    as_of: datetime | None
    place: Position
    explain: bool

    @property
    def limit(self) -> int:
        """How many matches are ranked: those returned before, and as many as could fit now."""
        page = min(max(self.max_tokens // SHORTEST_MEMORY, FEWEST_RANKED), MOST_RANKED)
        return min(self.place.returned + page, MOST_RETURNED)


class Recall:
    """Searches the memories of one user. Forgotten and expired memories are never returned."""

    def __init__(
        self,
        snapshots: UserMemoryCache,
        user_index: IndexRegistry,
        nearby: NearbyTurns,
        turns: PastTurns,
        embeddings: Embeddings,
        access: AccessCounts,
        count: TokenCounter,
        now: Callable[[], datetime],
    ) -> None:
        self._snapshots = snapshots
        self._indexes = user_index
        self._nearby = nearby
        self._turns = turns
        self._embeddings = embeddings
        self._access = access
        self._count = count
        self._now = now

    async def search(
        self,
        scope: Scope,
        question: str,
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        topic: str | None = None,
        as_of: datetime | None = None,
        cursor: str | None = None,
        explain: bool = False,
    ) -> Recalled:
        """Return the best memories for the question that fit into the budget, which counts the whole reply.

        ``topic`` limits the search to one topic and those below it; ``as_of`` asks what was true at that time;
        ``cursor`` continues after an earlier reply to the same question; ``explain`` adds the parts of the scores.

        Raises:
            NotFoundError: There is no memory under the topic.
        """
        check_budget(max_tokens)
        question = checked_text("query", question, MAX_QUESTION_BYTES)
        below = None if topic is None else checked_prefix(topic)
        asked = _Asked(scope, question, self._now(), max_tokens, below, as_of, position_from(cursor), explain)
        snapshot, activities = await self._snapshots.with_activity(scope)
        if below is not None and not under_topic(snapshot.rows, below):
            raise _unknown_topic(snapshot, below)
        if not asked_words(question) and as_of is None:
            return self._best_of_everything(asked, snapshot)
        texts = [question, *aspects_of(question)]
        asked_texts = [without_owner(text) for text in texts]
        vectors = await self._embeddings.of_questions(asked_texts, with_fine=bool(snapshot.by_key))
        # No conversation has a topic.
        near = vectors[0].coarse if below is None else None
        user_index, missing = await self._nearby.user_index(scope, snapshot, activities, near)
        return await self._answered(asked, list(zip(texts, vectors, strict=True)), user_index, missing)

    async def similar(self, scope: Scope, memory_id: str) -> list[StoredMemory]:
        """Return current facts that say nearly the same as this memory, or may contradict it; the closest first."""
        snapshot = await self._snapshots.of(scope)
        own = fact_key(scope, memory_id).sk
        if own not in snapshot.by_key:  # an earlier release may have put it elsewhere
            named = (sk for sk, one in snapshot.by_key.items() if one.id == memory_id and one.kind is not Kind.PAST)
            own = next(named, None)
        if own is None:
            return []
        user_index = await self._indexes.of_snapshot(scope, snapshot)
        now = self._now()
        return [
            memory
            for memory, cosine in user_index.alike(own, MOST_COMPARED)
            if cosine >= _similar_from(memory, snapshot.by_key[own])
            and memory.kind is Kind.FACT
            and is_unexpired(memory, now)
            and not is_past(memory, now)
        ][:MOST_SIMILAR]

    async def _answered(
        self,
        asked: _Asked,
        questions: Sequence[tuple[str, Vectors]],
        user_index: UserIndex,
        missing: tuple[str, ...],
    ) -> Recalled:
        if questions[0][1].coarse is None and self._embeddings.model is not None:
            missing = (*missing, NO_MEANING)
        # The index may hold a later snapshot than the one of this call: the later one is used.
        matches, snapshot = user_index.search(
            questions,
            asked_at=asked.now,
            limit=asked.limit,
            times_returned=self._access.of(asked.scope),
            only=_only(asked),
            explain=asked.explain,
            few_weak=asked.topic is None,  # a question with a topic wants everything under it
        )
        rows = snapshot.by_key
        missing = (*snapshot.missing, *missing)
        found = with_past_values_last(_each_once(matches, rows, asked.now), rows, asked.now)
        return await self._reply(asked, found, rows, snapshot, user_index, missing)

    def _best_of_everything(self, asked: _Asked, snapshot: UserSnapshot) -> Recalled:
        """Answer a question without a content word, such as "what do you know about me?"."""
        chosen = [
            memory for memory in unexpired(best_first(snapshot, asked.now), asked.now) if _is_below(memory, asked.topic)
        ]
        rest = chosen[asked.place.start([memory.id for memory in chosen]) :]
        reply = ReplyBuilder(_answer(snapshot.missing), len(rest), (), self._count, asked.max_tokens)
        fitting = 0
        for memory in rest:
            if not reply.add(recollection_of(memory, asked.now)):
                break
            fitting += 1
        return reply.build(len(rest) - fitting, asked.place)

    async def _reply(
        self,
        asked: _Asked,
        found: Sequence[Match],
        rows: Mapping[str, StoredMemory],
        snapshot: UserSnapshot,
        user_index: UserIndex,
        missing: tuple[str, ...],
    ) -> Recalled:
        rest = found[_start(asked.place, found, rows) :]
        words = asked_words(asked.question)
        answer = replace(_answer(missing), is_nearest_only=_is_nearest_only(found, asked.place))
        reply = ReplyBuilder(answer, len(rest), words, self._count, asked.max_tokens)
        left = len(rest)
        for start in range(0, len(rest), READ_AT_ONCE):
            some = rest[start : start + READ_AT_ONCE]
            said = await self._with_texts(asked.scope, some, rows, user_index)
            for match, memories in zip(some, said, strict=True):
                same = [memory for memory in memories if not is_withheld(memory, snapshot)]
                if not same or reply.add(_recollection(same, match, asked)):
                    left -= 1
                else:
                    break
            if reply.is_full:
                break
        recalled = reply.build(left, asked.place)
        self._access.note(asked.scope, [one.id for one in recalled.memories])
        return recalled

    async def _with_texts(
        self, scope: Scope, found: Sequence[Match], rows: Mapping[str, StoredMemory], user_index: UserIndex
    ) -> list[list[StoredMemory]]:
        """Return the memories of each match, turns with their texts; none if they are gone.

        Stores delete expired items late, and other processes forget: turns are always read again before they are
        returned.
        """
        names = [(match.id, *match.also[:MOST_REPETITIONS]) for match in found]
        places = {name: place for name in chain(*names) if (place := place_of(name)) is not None}
        turns: Mapping[TurnPlace, StoredMemory] = {}
        if places:
            turns = await self._turns.at(scope, places.values(), with_vectors=False)
            user_index.remove([document_id for document_id, place in places.items() if place not in turns])

        def memory(name: str) -> StoredMemory | None:
            return turns.get(places[name]) if name in places else rows.get(name)

        return [[one for name in each if (one := memory(name)) is not None] for each in names]


def _similar_from(one: StoredMemory, other: StoredMemory) -> float:
    return SIMILAR_UNDER_A_TOPIC if one.topic and same_topic(one.topic, other.topic) else SIMILAR_FROM


def _answer(missing: tuple[str, ...]) -> Recalled:
    return Recalled(Status.PARTIAL if missing else Status.COMPLETE, (), missing=missing)


def _is_nearest_only(found: Sequence[Match], place: Position) -> bool:
    return bool(found) and not place.returned and likelihood(found[0].probability) is not Likelihood.LIKELY


def _only(asked: _Asked) -> Callable[[UserIndex], Collection[str]] | None:
    """Return the selection of documents that may be found; None for all."""
    if asked.as_of is None and asked.topic is None:
        return None

    def chosen(user_index: UserIndex) -> Collection[str]:
        rows = user_index.snapshot.by_key
        held = rows.keys() if asked.as_of is None else user_index.held(asked.as_of, rows)
        if asked.topic is None:
            return held
        return {sk for sk in held if sk in rows and is_under(rows[sk].topic, asked.topic)}

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


def _start(place: Position, found: Sequence[Match], rows: Mapping[str, StoredMemory]) -> int:
    return 0 if place.last is None else place.start([_public_id(match, rows) for match in found])


def _public_id(match: Match, rows: Mapping[str, StoredMemory]) -> str:
    place = place_of(match.id)
    if place is not None:
        return turn_memory_id(place.session_id, place.turn_id)
    return rows[match.id].id if match.id in rows else ""


def _recollection(same: Sequence[StoredMemory], match: Match, asked: _Asked) -> Recollection:
    memory, *others = same
    # A duplicate whose text was changed since is none.
    repetitions = [other for other in others if other.text == memory.text]
    label = None if match.is_context else likelihood(match.probability)
    if not asked.explain:
        return recollection_of(memory, asked.now, None, repetitions, label, as_of=asked.as_of)
    parts = {name: round(value, 3) for name, value in match.parts.items() if round(value, 3)}
    explained = {"probability": round(match.probability, 3), **parts}
    return recollection_of(memory, asked.now, explained, repetitions, label, as_of=asked.as_of)


def _is_below(memory: StoredMemory, topic: str | None) -> bool:
    return topic is None or is_under(memory.topic, topic)


def _unknown_topic(snapshot: UserSnapshot, topic: str) -> NotFoundError:
    topics = sorted({memory.topic.partition("/")[0] + "/" for memory in snapshot.rows if memory.topic})
    have = f"the known topics are {', '.join(topics[:20])}" if topics else "no topic is known yet"
    return NotFoundError(f"nothing is known under the topic {topic!r}; {have}. Leave topic out to search everything")
