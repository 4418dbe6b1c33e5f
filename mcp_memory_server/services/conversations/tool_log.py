"""The tool log: which tools were called for a user, and how it went."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from mcp_memory_server.domain.conversations.tool_log import ToolCall, ToolCallPage, ToolStatus, observed
from mcp_memory_server.domain.kernel.items import Item
from mcp_memory_server.domain.kernel.page_limits import check_limit
from mcp_memory_server.domain.kernel.scope import Scope, check_id
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.tool_records import tool_call_from, tool_call_put
from mcp_memory_server.services.kernel.write_behind import DRAIN_SECONDS, WriteBehindQueue

DEFAULT_CALLS = 50
MOST_WAITING = 1000
READ_WAITS_SECONDS = 1.0
"""A read waits so long for what this process recorded before it, and then answers without it."""

NOT_WRITTEN_YET = "calls of the last moments, which are not written yet"


class ToolLog:
    """Tool calls of a user for 30 days, without secrets. No tool waits for its entry to be written."""

    def __init__(self, table: ItemTable, now: Callable[[], datetime], *, most_waiting: int = MOST_WAITING) -> None:
        self._table = table
        self._now = now
        self._behind = WriteBehindQueue(table, most_waiting)
        self._lock = Lock()
        self._last_id: str | None = None

    @property
    def lost(self) -> int:
        """How many calls this process could not write down."""
        return self._behind.lost

    def record(
        self,
        scope: Scope,
        name: str,
        inputs: Mapping[str, Any],
        output: str,
        *,
        duration: timedelta,
        status: ToolStatus = ToolStatus.OK,
    ) -> None:
        """Note a call of a tool. It is written a moment later: this is a log, not an acknowledgement.

        From any thread and any event loop; it never waits for the table. What is kept of the inputs is taken now, so
        they may change afterwards.
        """
        now = self._now()
        call = observed(
            self._next_id(now),
            name,
            inputs,
            output,
            status=status,
            duration=duration,
            at=now,
            session_id=scope.session_id,
        )
        self._behind.add(tool_call_put(scope, call))

    async def by_time(self, scope: Scope, *, limit: int = DEFAULT_CALLS, cursor: str | None = None) -> ToolCallPage:
        """Return the calls made for the user, newest first. A cursor continues where a page ended."""
        check_limit(limit)
        missing = await self._missing()
        partition = keys.tools_partition(scope.user_id)
        page = await self._table.query(partition, descending=True, limit=limit, cursor=cursor)
        calls, unreadable = _calls(page.items)
        return ToolCallPage(calls, page.cursor, (*missing, *unreadable))

    async def by_session(
        self, scope: Scope, session_id: str, *, limit: int = DEFAULT_CALLS, cursor: str | None = None
    ) -> ToolCallPage:
        """Return the calls made in one of the user's sessions, newest first.

        They come from an index, which may follow a moment later. Those of the last moments that it does not list yet
        are put in front, so that the first page may be longer than ``limit``.
        """
        check_id("session_id", session_id)
        check_limit(limit)
        if cursor is not None:
            return await self._listed(scope, session_id, limit, cursor)
        recent = await self.by_time(scope, limit=limit)
        listed = await self._listed(scope, session_id, limit, cursor)
        newest = listed.calls[0].id if listed.calls else ""
        late = (call for call in recent.calls if call.session_id == session_id and call.id > newest)
        return ToolCallPage((*late, *listed.calls), listed.cursor, listed.missing or recent.missing)

    async def _listed(self, scope: Scope, session_id: str, limit: int, cursor: str | None) -> ToolCallPage:
        partition, items = keys.tools_partition(scope.user_id), list[Item]()
        while True:
            wanted = limit - len(items)
            index = keys.tools_index(scope, session_id)
            page = await self._table.find(index, descending=True, limit=wanted, cursor=cursor)
            own = [key for key in page.keys if key.pk == partition]
            found = await self._table.get_many(own)
            # The index knows nothing of expiry: what is gone does not count, and the page is filled up.
            items += [found[key] for key in own if key in found]
            cursor = page.cursor
            if cursor is None or len(items) >= limit:
                calls, unreadable = _calls(items)
                return ToolCallPage(calls, cursor, unreadable)

    async def drain(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Wait until every call recorded before is written or dropped; return whether that was so in time."""
        return await self._behind.drain(seconds)

    async def close(self) -> None:
        """Write what waits, as far as that goes in time. To be called before the table is closed."""
        await self._behind.close()

    async def _missing(self) -> tuple[str, ...]:
        """Return what a page lacks after what was recorded here had time to be written."""
        return () if await self.drain(READ_WAITS_SECONDS) else (NOT_WRITTEN_YET,)

    def _next_id(self, now: datetime) -> str:
        with self._lock:
            self._last_id = ulid_after(self._last_id, now)
            return self._last_id


def _calls(items: Sequence[Item]) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    """Return the calls that can be read, and a sentence about those that cannot."""
    calls = tuple(tool_call_from(item) for item in items if not item.is_damaged)
    unreadable = len(items) - len(calls)
    return calls, (f"{unreadable} tool calls could not be read",) if unreadable else ()
