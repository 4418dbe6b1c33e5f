"""Recall: the memories that answer a question, within a budget of tokens."""

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
from mcp_memory_server.domain.recall.answers import MOST_AGAIN, Recalled, Recollection, Reply, check_budget, told
from mcp_memory_server.domain.recall.cursors import Place, place_from
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
from mcp_memory_server.domain.recall.past_values import after_their_successors
from mcp_memory_server.domain.recall.question_forms import without_owner
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
"""No memory is told in fewer tokens: its id, its date and its confidence alone take almost as many."""
FEWEST_RANKED, MOST_RANKED = 40, 100
MOST_RETURNED = 500
"""So many can be reached with cursors. Whoever wants more has a better question."""
READ_AT_ONCE = 16
"""Turns whose texts are read from the table together."""

SIMILAR_FROM, SIMILAR_UNDER_A_TOPIC, MOST_SIMILAR, MOST_COMPARED = 0.62, 0.5, 3, 10
"""From this cosine on two facts are about the same thing: of two versions of one fact 9 in 10 reach it, of two facts
about different things hardly any. Facts under one topic need less. So many are returned, of so many compared."""

NO_MEANING = "the model for embeddings did not answer: found by words alone"


@dataclass(frozen=True)
class _Asked:
    """What is asked, by whom, when, and how much of an answer is wanted."""

    scope: Scope
    question: str
    now: datetime
    max_tokens: int
    topic: str | None
    as_of: datetime | None
    place: Place
    explain: bool

    @property
    def limit(self) -> int:
        """How many are ranked: those told before, and as many as could fit now."""
        page = min(max(self.max_tokens // SHORTEST_MEMORY, FEWEST_RANKED), MOST_RANKED)
        return min(self.place.told + page, MOST_RETURNED)


class Recall:
    """Searches what is known of one user. Forgotten and expired memories are never found."""

    def __init__(
        self,
        known: UserMemoryCache,
        searchable: IndexRegistry,
        nearby: NearbyTurns,
        turns: PastTurns,
        embeddings: Embeddings,
        access: AccessCounts,
        count: TokenCounter,
        now: Callable[[], datetime],
    ) -> None:
        self._known = known
        self._searchable = searchable
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
        """Return the best memories for the question that fit, whole reply counted.

        ``topic`` limits the search to one topic and those below it; ``as_of`` asks what was true at that time;
        ``cursor`` goes on where an earlier answer to the same question ended; ``explain`` tells the parts of scores.

        Raises:
            NotFoundError: Nothing at all is known under the topic.
        """
        check_budget(max_tokens)
        question = checked_text("query", question, MAX_QUESTION_BYTES)
        below = None if topic is None else checked_prefix(topic)
        asked = _Asked(scope, question, self._now(), max_tokens, below, as_of, place_from(cursor), explain)
        known, talks = await self._known.with_activity(scope)
        if below is not None and not under_topic(known.rows, below):
            raise _unknown_topic(known, below)
        if not asked_words(question) and as_of is None:
            return self._best_of_everything(asked, known)
        texts = [question, *aspects_of(question)]
        asked_texts = [without_owner(text) for text in texts]
        vectors = await self._embeddings.of_questions(asked_texts, with_fine=bool(known.by_key))
        # No conversation has a topic.
        near = vectors[0].coarse if below is None else None
        searchable, missing = await self._nearby.searchable(scope, known, talks, near)
        return await self._answered(asked, list(zip(texts, vectors, strict=True)), searchable, missing)

    async def similar(self, scope: Scope, memory_id: str) -> list[StoredMemory]:
        """Return what is known now and says nearly the same as this memory, or may contradict it; the closest first."""
        known = await self._known.of(scope)
        own = fact_key(scope, memory_id).sk
        if own not in known.by_key:  # an earlier release may have put it elsewhere
            named = (sk for sk, one in known.by_key.items() if one.id == memory_id and one.kind is not Kind.PAST)
            own = next(named, None)
        if own is None:
            return []
        searchable = await self._searchable.of_known(scope, known)
        now = self._now()
        return [
            memory
            for memory, cosine in searchable.alike(own, MOST_COMPARED)
            if cosine >= _similar_from(memory, known.by_key[own])
            and memory.kind is Kind.FACT
            and is_unexpired(memory, now)
            and not is_past(memory, now)
        ][:MOST_SIMILAR]

    async def _answered(
        self,
        asked: _Asked,
        questions: Sequence[tuple[str, Vectors]],
        searchable: UserIndex,
        missing: tuple[str, ...],
    ) -> Recalled:
        if questions[0][1].coarse is None and self._embeddings.model is not None:
            missing = (*missing, NO_MEANING)
        # Somebody who asked later may have brought more in: then that is what is told.
        matches, known = searchable.search(
            questions,
            asked_at=asked.now,
            limit=asked.limit,
            times_returned=self._access.of(asked.scope),
            only=_only(asked),
            explain=asked.explain,
            few_weak=asked.topic is None,  # who names a topic asks for all that lies there
        )
        rows = known.by_key
        missing = (*known.missing, *missing)
        found = after_their_successors(_each_once(matches, rows, asked.now), rows, asked.now)
        return await self._told(asked, found, rows, known.forgotten, searchable, missing)

    def _best_of_everything(self, asked: _Asked, known: UserSnapshot) -> Recalled:
        """Answer a question without a single telling word, such as "what do you know about me?"."""
        chosen = [
            memory for memory in unexpired(best_first(known, asked.now), asked.now) if _is_below(memory, asked.topic)
        ]
        rest = chosen[asked.place.start([memory.id for memory in chosen]) :]
        reply = Reply(_answer(known.missing), len(rest), (), self._count, asked.max_tokens)
        fitting = 0
        for memory in rest:
            if not reply.add(told(memory, asked.now)):
                break
            fitting += 1
        return reply.ended(len(rest) - fitting, asked.place)

    async def _told(
        self,
        asked: _Asked,
        found: Sequence[Match],
        rows: Mapping[str, StoredMemory],
        forgotten: Collection[str],
        searchable: UserIndex,
        missing: tuple[str, ...],
    ) -> Recalled:
        rest = found[_start(asked.place, found, rows) :]
        words = asked_words(asked.question)
        answer = replace(_answer(missing), is_nearest_only=_is_nearest_only(found, asked.place))
        reply = Reply(answer, len(rest), words, self._count, asked.max_tokens)
        left = len(rest)
        for start in range(0, len(rest), READ_AT_ONCE):
            some = rest[start : start + READ_AT_ONCE]
            said = await self._with_texts(asked.scope, some, rows, searchable)
            for match, memories in zip(some, said, strict=True):
                same = [memory for memory in memories if not is_withheld(memory, forgotten)]
                if not same or reply.add(_recollection(same, match, asked)):
                    left -= 1
                else:
                    break
            if reply.is_full:
                break
        ended = reply.ended(left, asked.place)
        self._access.note(asked.scope, [one.id for one in ended.memories])
        return ended

    async def _with_texts(
        self, scope: Scope, found: Sequence[Match], rows: Mapping[str, StoredMemory], searchable: UserIndex
    ) -> list[list[StoredMemory]]:
        """Return of each match the memories that say it, turns with their texts; nothing if they are gone.

        Stores delete late, and others forget: what was said is always read again before it is told.
        """
        names = [(match.id, *match.also[:MOST_AGAIN]) for match in found]
        places = {name: place for name in chain(*names) if (place := place_of(name)) is not None}
        turns: Mapping[TurnPlace, StoredMemory] = {}
        if places:
            turns = await self._turns.at(scope, places.values(), with_vectors=False)
            searchable.take_out([document_id for document_id, place in places.items() if place not in turns])

        def memory(name: str) -> StoredMemory | None:
            return turns.get(places[name]) if name in places else rows.get(name)

        return [[one for name in each if (one := memory(name)) is not None] for each in names]


def _similar_from(one: StoredMemory, other: StoredMemory) -> float:
    return SIMILAR_UNDER_A_TOPIC if one.topic and same_topic(one.topic, other.topic) else SIMILAR_FROM


def _answer(missing: tuple[str, ...]) -> Recalled:
    return Recalled(Status.PARTIAL if missing else Status.COMPLETE, (), missing=missing)


def _is_nearest_only(found: Sequence[Match], place: Place) -> bool:
    return bool(found) and not place.told and likelihood(found[0].probability) is not Likelihood.LIKELY


def _only(asked: _Asked) -> Callable[[UserIndex], Collection[str]] | None:
    """Return what may be found, if not everything."""
    if asked.as_of is None and asked.topic is None:
        return None

    def chosen(searchable: UserIndex) -> Collection[str]:
        rows = searchable.known.by_key
        held = rows.keys() if asked.as_of is None else searchable.held(asked.as_of, rows)
        if asked.topic is None:
            return held
        return {sk for sk in held if sk in rows and is_under(rows[sk].topic, asked.topic)}

    return chosen


def _each_once(matches: Sequence[Match], rows: Mapping[str, StoredMemory], now: datetime) -> list[Match]:
    """Return what has not expired, each statement once: the one with a topic speaks for the same text without one."""
    living = [match for match in matches if match.id not in rows or is_unexpired(rows[match.id], now)]
    facts = {match.id: fact for match in living if match.id in rows and (fact := rows[match.id].fact) is not None}
    loose = [document_id for document_id, fact in facts.items() if fact.topic is None]
    if not loose or len(loose) == len(facts):
        return living
    placed = {(fact.fingerprint, fact.standing) for fact in facts.values() if fact.topic is not None}
    said_elsewhere = {one for one in loose if (facts[one].fingerprint, facts[one].standing) in placed}
    return [match for match in living if match.id not in said_elsewhere]


def _start(place: Place, found: Sequence[Match], rows: Mapping[str, StoredMemory]) -> int:
    return 0 if place.last is None else place.start([_public_id(match, rows) for match in found])


def _public_id(match: Match, rows: Mapping[str, StoredMemory]) -> str:
    place = place_of(match.id)
    if place is not None:
        return turn_memory_id(place.session_id, place.turn_id)
    return rows[match.id].id if match.id in rows else ""


def _recollection(same: Sequence[StoredMemory], match: Match, asked: _Asked) -> Recollection:
    memory, *others = same
    # Whoever changed one of them since has said something else.
    again = [other for other in others if other.text == memory.text]
    label = None if match.is_context else likelihood(match.probability)
    if not asked.explain:
        return told(memory, asked.now, None, again, label, as_of=asked.as_of)
    parts = {name: round(value, 3) for name, value in match.parts.items() if round(value, 3)}
    explained = {"probability": round(match.probability, 3), **parts}
    return told(memory, asked.now, explained, again, label, as_of=asked.as_of)


def _is_below(memory: StoredMemory, topic: str | None) -> bool:
    return topic is None or is_under(memory.topic, topic)


def _unknown_topic(known: UserSnapshot, topic: str) -> NotFoundError:
    topics = sorted({memory.topic.partition("/")[0] + "/" for memory in known.rows if memory.topic})
    have = f"the known topics are {', '.join(topics[:20])}" if topics else "no topic is known yet"
    return NotFoundError(f"nothing is known under the topic {topic!r}; {have}. Leave topic out to search everything")
