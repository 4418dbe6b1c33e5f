"""Add the conversations of an export to the table: with their ids, counted exactly, and as often as one likes."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from uuid import uuid4

from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.counts import Counters, KnownCounts
from mcp_memory_server.domain.sessions.hot_sessions import possible_partitions
from mcp_memory_server.domain.sessions.turns import View
from mcp_memory_server.errors import ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metrics import NoMetrics
from mcp_memory_server.schema.ending_records import ending_key, restored
from mcp_memory_server.schema.exported.session_lines import SessionEntry, TurnEntry
from mcp_memory_server.schema.turn_records import (
    ENDED_AT,
    TOKEN_COUNT,
    TURN_COUNT,
    Written,
    line_of,
    rolled,
    rolling_key,
    session_written,
    turn_key,
    written,
)
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.retries import retry_on_conflict
from mcp_memory_server.services.sessions.turn_counters import TurnCounters
from mcp_memory_server.services.sessions.turn_pages import TurnPages

TURNS_AT_ONCE = 9
"""The table writes ten items at once, and the counters are one of them."""


class RestoredSessions:
    """Adds turns that are missing. Each is counted by the write that stores it, as if it had no writer.

    A session may get turns from others at the same time.
    """

    def __init__(self, table: ItemTable, embeddings: Embeddings, now: Callable[[], datetime]) -> None:
        self._table = table
        self._embeddings = embeddings
        self._now = now
        self._pages = TurnPages(table)
        self._counters = TurnCounters(table, now, time.monotonic, NoMetrics())

    async def add(self, scope: Scope, turns: Sequence[TurnEntry]) -> int:
        """Add those of the turns of a session that it lacks, and return how many these were."""
        added = 0
        for start in range(0, len(turns), TURNS_AT_ONCE):
            some = turns[start : start + TURNS_AT_ONCE]
            added += await retry_on_conflict(lambda some=some: self._add(scope, some))
        return added

    async def finish(self, session: SessionEntry) -> None:
        """Add what is known of a session beside its turns, which were added before, unless it is known here."""
        scope, now = session.scope, self._now()
        if session.summary is not None:
            put = rolled(scope, session.summary, session.rolled_upto, now, expected_version=0)
            await self._add_unless_there(rolling_key(scope), put)
        await retry_on_conflict(lambda: self._count_what_is_gone(session))
        if session.ending is not None and await self._table.get(ending_key(scope)) is None:
            try:
                await self._table.update(restored(scope, session.ending, now), operation_id=uuid4().hex)
            except ConflictError:
                return  # somebody continues the session here

    async def _add(self, scope: Scope, turns: Sequence[TurnEntry]) -> int:
        counters = await self._counters.read(scope)
        stored = await self._stored(scope, turns, counters)
        new = {one.turn.id: one for one in turns if one.turn.id not in stored}
        if not new:
            return 0
        items = [await self._items(scope, one) for one in new.values()]
        for part in (part for one in items for part in one.parts):
            # The same id in every attempt: a part of an interrupted one is recognised.
            await self._add_unless_there(part.key, part)
        await self._counters.count_with(scope, [one.turn for one in items], [line_of(one.turn) for one in new.values()])
        return len(new)

    async def _stored(self, scope: Scope, turns: Sequence[TurnEntry], counters: Counters) -> set[str]:
        """Return the ids of the turns that lie in one of the partitions where they may."""
        places: Mapping[Key, str] = {
            turn_key(scope, one.turn.id, number): one.turn.id
            for one in turns
            for number in possible_partitions(one.turn.id, counters.partitions)
        }
        return {places[key] for key in await self._table.get_many(places, attributes=())}

    async def _items(self, scope: Scope, entry: TurnEntry) -> Written:
        vectors = await self._embeddings.beside_turn(scope, entry.turn.content)
        return written(
            scope,
            entry.turn,
            self._now(),
            operation=entry.operation,
            beside={**entry.beside, **vectors},
            expires_at=entry.expires_at,
        )

    async def _count_what_is_gone(self, session: SessionEntry) -> None:
        """Raise the counters by turns that were deleted or expired, and so are no lines of the export."""
        page, counters = await self._pages.last(session.scope, 1, View.SUMMARY, KnownCounts())
        turns, tokens = session.turn_count - page.turn_count, session.token_count - page.token_count
        ended = session.ended_at if counters.ended_at is None else None
        if turns <= 0 and ended is None:
            return
        add = {TURN_COUNT: max(turns, 0), TOKEN_COUNT: max(tokens, 0)} if turns > 0 else {}
        set_ = {} if ended is None else {ENDED_AT: ended.isoformat()}
        update = session_written(session.scope, self._now(), add=add, set=set_, expected_version=counters.version)
        await self._table.update(update, operation_id=uuid4().hex)

    async def _add_unless_there(self, key: Key, put: Put) -> None:
        if await self._table.get(key) is None:
            try:
                await self._table.put(put, operation_id=uuid4().hex)
            except ConflictError:
                return
