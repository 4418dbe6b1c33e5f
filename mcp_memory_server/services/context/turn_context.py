"""Choose what a model should know about the user for one turn. It takes one read of the table, and no model is run."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from weakref import WeakKeyDictionary

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
from mcp_memory_server.domain.language.word_forms import asked_words
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot, is_past, is_unexpired
from mcp_memory_server.domain.recall.overview import best_first, overview_of_day
from mcp_memory_server.domain.recall.past_values import with_past_values_last
from mcp_memory_server.domain.recall.question_forms import asks_for_the_past, without_owner
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache
from mcp_memory_server.services.recall.index_registry import IndexRegistry
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
        snapshot = await self._snapshots.of(scope)
        always = self._always_lines(snapshot, now)
        said = plain(said[-LONGEST_SAID:])
        room, shown = max_tokens, tuple[str, ...]()
        if with_always:
            most = max_tokens // SHARE_OF_ALWAYS if with_matches else max_tokens
            shown, left = fitting(not_said(always, said) if with_matches else always, self._count, most)
            room -= most - left
        found = TurnMemories(_status(snapshot), shown, known=len(snapshot.by_key), missing=snapshot.missing)
        if not with_matches:
            return found
        section = ""
        if with_handoff:
            handoff = await self._handoffs.of(scope, snapshot)
            section = handoff.section(scope.session_id, now, self._count, min(HANDOFF_TOKENS, room // 2))
            room -= self._count(section) if section else 0
        matches = [line_of(memory, now) for memory in await self._about(scope, snapshot, words, now)]
        new = [line for line in not_said(matches, said) if line not in shown]
        chosen, _ = fitting(dict.fromkeys(new), self._count, room)
        return replace(found, matches=chosen, handoff=section)

    def _always_lines(self, snapshot: UserSnapshot, now: datetime) -> tuple[str, ...]:
        hour = now.replace(minute=0, second=0, microsecond=0)
        made = self._always.get(snapshot)
        if made is None or made[0] != hour:
            made = self._always[snapshot] = hour, always_lines(snapshot, overview_of_day(snapshot, now), now)
        return made[1]

    async def _about(self, scope: Scope, snapshot: UserSnapshot, words: str, now: datetime) -> list[StoredMemory]:
        """Return the memories that the words are about, best first; the best of all if the words are about nothing."""
        words = words[-LONGEST_WORDS:].strip()
        if not snapshot.by_key or not words:
            return []
        if not asked_words(words):
            return best_first(snapshot, now)[:MOST_MATCHES]
        user_index = await self._indexes.of_snapshot(scope, snapshot)
        vectors = await self._embeddings.of_words(without_owner(words))
        with_past = asks_for_the_past(words)
        matches, then = user_index.search(
            [(words, vectors)],
            asked_at=now,
            limit=MOST_MATCHES,
            times_returned={},
            only=lambda user: _current(user.snapshot.by_key, now, with_past=with_past),
            few_weak=False,
        )
        rows = then.by_key
        ordered = with_past_values_last([match for match in matches if match.id in rows], rows, now)
        return [rows[match.id] for match in ordered]


def _current(rows: Mapping[str, StoredMemory], now: datetime, *, with_past: bool) -> Collection[str]:
    """Return the sort keys of what may be shown. Summaries are part of the hand-off."""
    return [
        sk
        for sk, memory in rows.items()
        if memory.kind is not Kind.SUMMARY and is_unexpired(memory, now) and (with_past or not is_past(memory, now))
    ]


def _status(snapshot: UserSnapshot) -> Status:
    return Status.PARTIAL if snapshot.missing else Status.COMPLETE
