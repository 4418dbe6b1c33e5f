"""Choose what a model should know about the user for one turn. It takes one read of the table, and no model is run."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from weakref import WeakKeyDictionary

from mcp_memory_server.domain.context.handoff import HandOff
from mcp_memory_server.domain.context.turn_memories import (
    SHARE_OF_ALWAYS,
    TurnMemories,
    always_lines,
    fitting,
    line_of,
    not_said,
    plain,
)
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.language.word_forms import asked_words
from mcp_memory_server.domain.recall.documents import Statistics
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot, is_past, is_unexpired
from mcp_memory_server.domain.recall.merging import merge_rankings
from mcp_memory_server.domain.recall.past_values_last import with_past_values_last
from mcp_memory_server.domain.recall.question_forms import asks_for_the_past, without_owner
from mcp_memory_server.domain.recall.ranked_memories import overview_of_day
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.services.context.read_owners import ReadOwner, ReadOwners, read_owners
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache
from mcp_memory_server.services.recall.index_registry import IndexRegistry
from mcp_memory_server.services.recall.owner_search import Found, Searched, best_of_all, said_once, statistics_beside
from mcp_memory_server.services.recall.user_index import UserIndex
from mcp_memory_server.services.summaries.handoffs import HandOffs

LONGEST_WORDS = 2_000
"""In characters of what the user said. The end of a longer text is searched for."""
LONGEST_SAID = 20_000
"""In characters of the conversation that lines are compared with."""
MOST_MATCHES = 40
LINES_COUNTED = 20_000
HANDOFF_TOKENS = 120


class TurnContext:
    """Loads the memories for a turn. Used from any thread and event loop."""

    def __init__(
        self,
        snapshots: UserMemoryCache,
        user_index: IndexRegistry,
        embeddings: Embeddings,
        handoffs: HandOffs,
        count: TokenCounter,
    ) -> None:
        self._snapshots = snapshots
        self._indexes = user_index
        self._embeddings = embeddings
        self._handoffs = handoffs
        self._count = lru_cache(LINES_COUNTED)(count)  # the same lines are counted turn after turn
        self._always: WeakKeyDictionary[UserSnapshot, tuple[object, tuple[str, ...]]] = WeakKeyDictionary()

    async def load(
        self,
        scope: Scope,
        words: str,
        now: datetime,
        *,
        max_tokens: int,
        said: str,
        with_always: bool,
        with_matches: bool,
        with_handoff: bool,
    ) -> TurnMemories:
        """Return the lines for a turn. See `Context.for_turn`."""
        read = await read_owners(self._snapshots, scope)
        snapshot = read.of_user
        always = self._always_lines(read, now)
        said = plain(said[-LONGEST_SAID:])
        room, shown = max_tokens, tuple[str, ...]()
        if with_always:
            most = max_tokens // SHARE_OF_ALWAYS if with_matches else max_tokens
            shown, left = fitting(not_said(always, said) if with_matches else always, self._count, most)
            room -= most - left
        found = TurnMemories(
            Status.PARTIAL if read.missing else Status.COMPLETE, shown, known=read.known, missing=read.missing
        )
        if not with_matches:
            return found
        section = ""
        if with_handoff:
            handoff = HandOff() if read.user is None else await self._handoffs.of(scope, snapshot)
            section = handoff.section(scope.session_id, now, self._count, min(HANDOFF_TOKENS, room // 2))
            room -= self._count(section) if section else 0
        about = await self._about(read, words, now)
        matches = [line_of(memory, now, owner=label) for memory, label in about]
        new = [line for line in not_said(matches, said) if line not in shown]
        chosen, _ = fitting(dict.fromkeys(new), self._count, room)
        return replace(found, matches=chosen, handoff=section)

    def _always_lines(self, read: ReadOwners, now: datetime) -> tuple[str, ...]:
        hour, snapshot = now.replace(minute=0, second=0, microsecond=0), read.of_user
        wanted = (hour, read.versions_beside)
        made = self._always.get(snapshot)
        if made is None or made[0] != wanted:
            lines = always_lines(snapshot, overview_of_day(snapshot, now), now, read.beside(now))
            made = self._always[snapshot] = wanted, lines
        return made[1]

    async def _about(self, read: ReadOwners, words: str, now: datetime) -> list[tuple[StoredMemory, str | None]]:
        """Return the memories that the words are about, best first, each with the label of its owner.

        If the words are about nothing, the best of all.
        """
        words = words[-LONGEST_WORDS:].strip()
        if not read.known or not words:
            return []
        if not asked_words(words):
            return best_of_all([(one.snapshot, one.label) for one in read.owners], now)[:MOST_MATCHES]
        indexes = await asyncio.gather(*(self._indexes.of_snapshot(one.scope, one.snapshot) for one in read.owners))
        vectors = await self._embeddings.of_words(without_owner(words))
        with_past = asks_for_the_past(words)

        def only(user: UserIndex) -> Collection[str]:
            return _current(user.snapshot.by_key, now, with_past=with_past)

        beside = statistics_beside(indexes, [(words, vectors)], now, only)
        rankings = [
            _search(one, index, (words, vectors), now, only, others)
            for one, index, others in zip(read.owners, indexes, beside, strict=True)
        ]
        merged = merge_rankings(rankings, lambda found: found.match, few_weak=False)
        once = merged if len(rankings) == 1 else said_once(merged)
        return [(found.source.snapshot.by_key[found.match.id], found.source.label) for found in once[:MOST_MATCHES]]


def _search(
    owner: ReadOwner,
    index: UserIndex,
    asked: tuple[str, Vectors],
    now: datetime,
    only: Callable[[UserIndex], Collection[str]],
    beside: Statistics,
) -> list[Found]:
    """Return what one owner's memories hold about the words, best first."""
    matches, then = index.search(
        [asked],
        asked_at=now,
        limit=MOST_MATCHES,
        times_returned={},
        only=only,
        few_weak=False,
        beside=beside,
    )
    rows, source = then.by_key, Searched(owner.scope, owner.label, then, index)
    ordered = with_past_values_last([match for match in matches if match.id in rows], rows, now)
    return [Found(match, source) for match in ordered]


def _current(rows: Mapping[str, StoredMemory], now: datetime, *, with_past: bool) -> Collection[str]:
    """Return the sort keys of what may be shown. Summaries are part of the hand-off."""
    return [
        sk
        for sk, memory in rows.items()
        if memory.kind is not Kind.SUMMARY and is_unexpired(memory, now) and (with_past or not is_past(memory, now))
    ]
