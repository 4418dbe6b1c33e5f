"""Read everything that is stored of a user, and yield it as the lines of an export."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from functools import partial

from mcp_memory_server.domain.kernel.index_cursors import IndexPlace
from mcp_memory_server.domain.kernel.items import Item
from mcp_memory_server.domain.kernel.scope import OwnerKind, Scope
from mcp_memory_server.domain.sessions.counts import KnownCounts
from mcp_memory_server.domain.sessions.turns import View
from mcp_memory_server.errors import TableDamagedError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys, snapshot_records
from mcp_memory_server.schema.ending_records import ending_key
from mcp_memory_server.schema.exported import session_lines
from mcp_memory_server.schema.exported.lines import LinePlace, header_line, line_from, place_of
from mcp_memory_server.schema.turn_records import (
    AFTER_TURNS,
    TURNS,
    counters_from,
    meta_key,
    partitions_of,
    parts_of,
    rolling_key,
    session_of,
    sessions_of,
)
from mcp_memory_server.services.sessions.turn_pages import TurnPages

ITEMS_PER_PAGE = 500
TURNS_PER_PAGE = 200
SESSIONS_PER_PAGE = 100
READ_ATTEMPTS = 3

OnUnreadable = Callable[[str], None]


class ExportedLines:
    """Yields lines in one order, so that an interrupted export can continue after its last line.

    Memories, then tool calls, snapshots and shared states, then session after session: its turns in the order of time,
    and what else is known of it. No more than a page is held in memory.
    """

    def __init__(
        self, table: ItemTable, scope: Scope, now: Callable[[], datetime], on_unreadable: OnUnreadable
    ) -> None:
        self._table = table
        self._scope = scope
        self._now = now
        self._on_unreadable = on_unreadable
        self._pages = TurnPages(table)
        self._sections = {
            "memories": self._memories,
            "tool_calls": self._tool_calls,
            "snapshots": self._snapshots,
            "states": self._states,
            "sessions": self._sessions,
        }

    async def after(self, last_line: str | None) -> AsyncIterator[str]:
        """Yield the lines after this one; without one all of them, beginning with the header."""
        place = None if last_line is None else place_of(last_line)
        if last_line is None:
            yield header_line(self._scope, self._now())
        of_user = self._scope.owner.kind is OwnerKind.USER
        for section, read in self._sections.items() if of_user else [("memories", self._memories)]:
            if place is None or place.section == section:
                async for line in read(place):
                    yield line
                place = None

    async def _memories(self, after: LinePlace | None) -> AsyncIterator[str]:
        async for item in self._items(keys.partition_of(self._scope), after):
            if line := self._readable(partial(line_from, item), "a memory"):
                yield line

    async def _tool_calls(self, after: LinePlace | None) -> AsyncIterator[str]:
        async for item in self._items(keys.tools_partition(self._scope.user_id), after):
            if line := self._readable(partial(session_lines.line_of_tool_call, item), "a tool call"):
                yield line

    async def _states(self, after: LinePlace | None) -> AsyncIterator[str]:
        async for item in self._items(keys.states_partition(self._scope.user_id), after):
            if line := self._readable(partial(session_lines.line_of_state, item), "a shared state"):
                yield line

    async def _snapshots(self, after: LinePlace | None) -> AsyncIterator[str]:
        partition = keys.snapshots_partition(self._scope.user_id)
        async for head in self._items(partition, after, prefix=snapshot_records.NAMES):
            if (line := await self._snapshot(head)) is not None:
                yield line

    async def _snapshot(self, head: Item | None) -> str | None:
        """Return the line of a snapshot; None if it was deleted in the meantime, or cannot be read."""
        for _ in range(READ_ATTEMPTS):
            if head is None:
                return None
            prefix = snapshot_records.parts_prefix(head)
            parts = () if prefix is None else (await self._table.query(head.key.pk, prefix=prefix, limit=None)).items
            if prefix is None or snapshot_records.is_whole(head, parts):
                return self._readable(partial(session_lines.line_of_snapshot, head, parts), "a snapshot")
            head = await self._table.get(head.key)  # somebody replaced it between the two reads
        self._on_unreadable("a snapshot")
        return None

    async def _sessions(self, after: LinePlace | None) -> AsyncIterator[str]:
        cursor: str | None = None
        if after is not None:
            last = Scope(self._scope.user_id, after.session)
            if after.sk:  # the line after which to go on is a turn
                async for line in self._session(last, after.sk):
                    yield line
            cursor = IndexPlace(keys.encoded(after.session), meta_key(last)).to_cursor()
        while True:
            page = await self._table.find(sessions_of(self._scope), limit=SESSIONS_PER_PAGE, cursor=cursor)
            for key in page.keys:
                async for line in self._session(session_of(key), None):
                    yield line
            if (cursor := page.cursor) is None:
                return

    async def _session(self, scope: Scope, after: str | None) -> AsyncIterator[str]:
        async for item in self._turns(scope, after):
            parts = parts_of(item)
            beside = () if parts is None else (await self._table.query(parts, limit=None)).items
            line = self._readable(partial(session_lines.line_of_turn, scope.session_id or "", item, beside), "a turn")
            if line is not None:
                yield line
        page, counters = await self._pages.last(scope, 1, View.SUMMARY, KnownCounts())
        if counters.version:
            items = await self._table.get_many([meta_key(scope), rolling_key(scope), ending_key(scope)])
            yield session_lines.line_of_session(scope, items, page.turn_count, page.token_count)

    async def _turns(self, scope: Scope, after: str | None) -> AsyncIterator[Item]:
        """Yield the turns of a session from all of its partitions, in the order of time."""
        meta = meta_key(scope)
        partitions = partitions_of(meta, counters_from(await self._table.get(meta)))
        while True:
            pages = [
                await self._table.query(partition, between=(TURNS, AFTER_TURNS), limit=TURNS_PER_PAGE, cursor=after)
                for partition in partitions
            ]
            # Up to here every partition was read.
            upto = min((page.cursor for page in pages if page.cursor is not None), default=None)
            items = {item.key.sk: item for page in pages for item in page.items if upto is None or item.key.sk <= upto}
            for sk in sorted(items):
                yield items[sk]
            if (after := upto) is None:
                return

    async def _items(self, partition: str, after: LinePlace | None, *, prefix: str = "") -> AsyncIterator[Item]:
        cursor = None if after is None else after.sk
        while True:
            page = await self._table.query(partition, prefix=prefix, limit=ITEMS_PER_PAGE, cursor=cursor)
            for item in page.items:
                yield item
            if (cursor := page.cursor) is None:
                return

    def _readable(self, read: Callable[[], str | None], what: str) -> str | None:
        try:
            return read()
        except TableDamagedError:
            self._on_unreadable(what)
            return None
