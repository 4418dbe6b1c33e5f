"""Recall: return the memories that answer a question, within a budget of tokens."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mcp_memory_server.domain.facts.topics import checked_prefix, is_under, same_topic
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.kernel.text import checked_text
from mcp_memory_server.domain.language.aspects import aspects_of
from mcp_memory_server.domain.language.word_forms import asked_words
from mcp_memory_server.domain.recall.documents import Match
from mcp_memory_server.domain.recall.likelihood import Likelihood, likelihood
from mcp_memory_server.domain.recall.memories import (
    Kind,
    StoredMemory,
    UserSnapshot,
    is_past,
    is_unexpired,
    under_topic,
)
from mcp_memory_server.domain.recall.merging import merge_rankings
from mcp_memory_server.domain.recall.question_forms import without_owner
from mcp_memory_server.domain.recall.replies.answers import (
    Recalled,
    Recollection,
    check_budget,
    recollection_of,
)
from mcp_memory_server.domain.recall.replies.cursors import Position, position_from
from mcp_memory_server.domain.recall.replies.reply_builder import ReplyBuilder
from mcp_memory_server.domain.recall.turn_memories import is_withheld
from mcp_memory_server.errors import NotFoundError
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.schema.keys import fact_key
from mcp_memory_server.services.conversations.past_turns import PastTurns
from mcp_memory_server.services.facts.placement import scopes_of_memory
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache
from mcp_memory_server.services.recall.access_counts import AccessCounts
from mcp_memory_server.services.recall.index_registry import IndexRegistry
from mcp_memory_server.services.recall.nearby_turns import NearbyTurns
from mcp_memory_server.services.recall.owner_search import (
    Found,
    Sought,
    best_of_all,
    only_sought,
    owner_labels,
    said_once,
    search_owner,
    statistics_beside,
    with_texts,
)

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
    """Searches the memories that a scope may read, in one ranking. Forgotten and expired ones are never returned."""

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
        labels = owner_labels(scope)
        scopes = scope.parts
        read = await asyncio.gather(*(self._snapshots.with_activity(each) for each in scopes))
        snapshots = [snapshot for snapshot, _ in read]
        if below is not None and not any(under_topic(snapshot.rows, below) for snapshot in snapshots):
            raise _unknown_topic(snapshots, below)
        if not asked_words(question) and as_of is None:
            return self._best_of_everything(asked, snapshots, list(labels.values()))
        texts = [question, *aspects_of(question)]
        asked_texts = [without_owner(text) for text in texts]
        with_fine = any(snapshot.by_key for snapshot in snapshots)
        vectors = await self._embeddings.of_questions(asked_texts, with_fine=with_fine)
        # No conversation has a topic.
        near = vectors[0].coarse if below is None else None
        indexes = await asyncio.gather(
            *(self._nearby.user_index(each, *one, near) for each, one in zip(scopes, read, strict=True))
        )
        sought = Sought(
            list(zip(texts, vectors, strict=True)),
            asked.now,
            asked.limit,
            below,
            as_of,
            self._access.of(scope),
            explain,
        )
        beside = statistics_beside([index for index, _ in indexes], sought.questions, asked.now, only_sought(sought))
        searched = [
            search_owner(each, label, index, sought, others)
            for each, label, (index, _), others in zip(scopes, labels.values(), indexes, beside, strict=True)
        ]
        missing = [sentence for source, _ in searched for sentence in source.snapshot.missing]
        missing += [sentence for _, sentences in indexes for sentence in sentences]
        if vectors[0].coarse is None and self._embeddings.model is not None:
            missing.append(NO_MEANING)
        found = merge_rankings([each for _, each in searched], lambda one: one.match, few_weak=below is None)
        once = found if len(searched) == 1 else said_once(found)
        return await self._reply(asked, once, tuple(dict.fromkeys(missing)))

    async def similar(self, scope: Scope, memory_id: str) -> list[StoredMemory]:
        """Return current facts that say nearly the same as this memory, or may contradict it; the closest first.

        They are of the owner who has the memory.
        """
        if scope.reads:
            return [
                one
                for each in await scopes_of_memory(self._snapshots, scope, memory_id)
                for one in await self.similar(each, memory_id)
            ]
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

    def _best_of_everything(
        self, asked: _Asked, snapshots: Sequence[UserSnapshot], labels: Sequence[str | None]
    ) -> Recalled:
        """Answer a question without a content word, such as "what do you know about me?"."""
        best = best_of_all(list(zip(snapshots, labels, strict=True)), asked.now)
        chosen = [(memory, label) for memory, label in best if _is_below(memory, asked.topic)]
        rest = chosen[asked.place.start([memory.id for memory, _ in chosen]) :]
        missing = tuple(dict.fromkeys(sentence for snapshot in snapshots for sentence in snapshot.missing))
        reply = ReplyBuilder(_answer(missing), len(rest), (), self._count, asked.max_tokens)
        fitting = 0
        for memory, label in rest:
            if not reply.add(replace(recollection_of(memory, asked.now), owner=label)):
                break
            fitting += 1
        return reply.build(len(rest) - fitting, asked.place)

    async def _reply(self, asked: _Asked, found: Sequence[Found], missing: tuple[str, ...]) -> Recalled:
        start = 0 if asked.place.last is None else asked.place.start([one.public_id for one in found])
        rest = found[start:]
        words = asked_words(asked.question)
        answer = replace(_answer(missing), is_nearest_only=_is_nearest_only(found, asked.place))
        reply = ReplyBuilder(answer, len(rest), words, self._count, asked.max_tokens)
        left = len(rest)
        for start in range(0, len(rest), READ_AT_ONCE):
            some = rest[start : start + READ_AT_ONCE]
            said = await with_texts(self._turns, some)
            for (match, source), memories in zip(some, said, strict=True):
                same = [memory for memory in memories if not is_withheld(memory, source.snapshot)]
                if not same or reply.add(replace(_recollection(same, match, asked), owner=source.label)):
                    left -= 1
                else:
                    break
            if reply.is_full:
                break
        recalled = reply.build(left, asked.place)
        self._access.note(asked.scope, [one.id for one in recalled.memories])
        return recalled


def _similar_from(one: StoredMemory, other: StoredMemory) -> float:
    return SIMILAR_UNDER_A_TOPIC if one.topic and same_topic(one.topic, other.topic) else SIMILAR_FROM


def _answer(missing: tuple[str, ...]) -> Recalled:
    return Recalled(Status.PARTIAL if missing else Status.COMPLETE, (), missing=missing)


def _is_nearest_only(found: Sequence[Found], place: Position) -> bool:
    return bool(found) and not place.returned and likelihood(found[0].match.probability) is not Likelihood.LIKELY


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


def _unknown_topic(snapshots: Sequence[UserSnapshot], topic: str) -> NotFoundError:
    rows = (memory for snapshot in snapshots for memory in snapshot.rows)
    topics = sorted({memory.topic.partition("/")[0] + "/" for memory in rows if memory.topic})
    have = f"the known topics are {', '.join(topics[:20])}" if topics else "no topic is known yet"
    return NotFoundError(f"nothing is known under the topic {topic!r}; {have}. Leave topic out to search everything")
