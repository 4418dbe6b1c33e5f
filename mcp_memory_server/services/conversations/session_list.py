"""List the sessions of a user, each with its statistics."""

import asyncio
from dataclasses import dataclass
from datetime import datetime

from mcp_memory_server.domain.kernel.page_limits import check_limit
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import moment_of
from mcp_memory_server.domain.sessions.counts import KnownCounts
from mcp_memory_server.domain.sessions.turns import View
from mcp_memory_server.errors import NotFoundError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.turn_records import (
    AFTER_TURNS,
    TURNS,
    meta_key,
    partitions_of,
    session_of,
    sessions_of,
    turn_id,
)
from mcp_memory_server.services.sessions.turn_pages import TurnPages

DEFAULT_SESSIONS = 20
READ_AT_ONCE = 8


@dataclass(frozen=True)
class SessionStatistics:
    """A session: how long it is, when its first stored turn and its last one were said, and when it was ended.

    ``ended_at`` is None while it is running.
    """

    id: str
    turn_count: int
    token_count: int
    created_at: datetime
    last_activity: datetime
    ended_at: datetime | None = None


@dataclass(frozen=True)
class SessionPage:
    """Some sessions in the order of their ids. ``cursor`` is None if there are no more."""

    sessions: tuple[SessionStatistics, ...]
    cursor: str | None = None


class SessionList:
    """The sessions of users, read from the table."""

    def __init__(self, table: ItemTable) -> None:
        self._table = table
        self._pages = TurnPages(table)

    async def page(self, scope: Scope, *, limit: int = DEFAULT_SESSIONS, cursor: str | None = None) -> SessionPage:
        """Return the sessions of the user. They come from an index, which may list a new one a moment later."""
        check_limit(limit)
        page = await self._table.find(sessions_of(scope), limit=limit, cursor=cursor)
        at_once = asyncio.Semaphore(READ_AT_ONCE)

        async def read(session: Scope) -> SessionStatistics | None:
            async with at_once:
                return await self._read(session)

        found = await asyncio.gather(*(read(session_of(key)) for key in page.keys))
        return SessionPage(tuple(one for one in found if one is not None), page.cursor)

    async def one(self, session: Scope) -> SessionStatistics:
        """Return the statistics of one session.

        Raises:
            NotFoundError: It has no turns.
        """
        found = await self._read(session)
        if found is None:
            raise NotFoundError(f"there is no session {(session.session_id or '')[:80]!r}; `sessions` lists them")
        return found

    async def _read(self, session: Scope) -> SessionStatistics | None:
        page, counters = await self._pages.last(session, 1, View.SUMMARY, KnownCounts())
        if not page.turns:
            return None
        last = page.turns[-1].at
        ended_at = page.ended_at if page.ended_at is not None and last <= page.ended_at else None
        firsts = [
            await self._table.query(partition, between=(TURNS, AFTER_TURNS), limit=1, attributes=())
            for partition in partitions_of(meta_key(session), counters)
        ]
        begun = moment_of(min((turn_id(one.items[0]) for one in firsts if one.items), default=page.turns[-1].id))
        return SessionStatistics(session.session_id or "", page.turn_count, page.token_count, begun, last, ended_at)
