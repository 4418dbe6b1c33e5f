"""Announcements: telling those who search that a session gets turns, without a note for every turn."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.turns import Turn
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.user_versions import publish_activity
from mcp_memory_server.services.sessions.local_writes import LocalWrites

ANNOUNCED_FOR = timedelta(minutes=30)
"""So long an announcement does. Whoever searches looks for new turns for longer than that."""
LATE = timedelta(minutes=1)
"""A turn that is older when it is written may lie before others that are known already, and is announced as such."""
SESSIONS_KNOWN = 10_000


@dataclass(frozen=True)
class _Announced:
    at: datetime
    moment: float
    since: str | None

    def still_does(self, now: datetime, moment: float) -> bool:
        """Tell whether it is recent by both clocks: one can be set back, the other stops while a machine sleeps."""
        return abs(now - self.at) < ANNOUNCED_FOR and moment - self.moment < ANNOUNCED_FOR.total_seconds()


class ActivityPublisher:
    """Remembers what this process has announced. Used from any thread and any event loop."""

    def __init__(
        self,
        table: ItemTable,
        now: Callable[[], datetime],
        own: LocalWrites,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table = table
        self._now = now
        self._own = own
        self._monotonic = monotonic
        self._sessions = LruCache[Scope, _Announced](SESSIONS_KNOWN)

    async def after_writing(self, scope: Scope, turn: Turn) -> None:
        """See to it that a turn which the table has will be found. It may be acknowledged when this returns.

        Raises:
            TableUnavailableError: It could not be announced. Put the turn once more.
        """
        self._own.note(scope.user_id, scope.session_id or "", turn.id)
        now, moment = self._now(), self._monotonic()
        is_late = now - turn.at > LATE
        before = self._announced(scope, now, moment)
        covers_it = not is_late or (before is not None and before.since is not None and before.since <= turn.id)
        if before is not None and covers_it:
            return
        await self._table.update(publish_activity(scope, self._own.writer, turn.id if is_late else ""))
        since = turn.id if is_late else None if before is None else before.since
        self._sessions.put(scope, _Announced(now, moment, since))

    async def over(self, scope: Scope) -> None:
        """Tell that this process writes no more to the session, so that nobody has to look for it."""
        before = self._sessions.pop(scope)
        if before is not None:
            await self._table.update(publish_activity(scope, self._own.writer, before.since or "", is_over=True))

    def _announced(self, scope: Scope, now: datetime, moment: float) -> _Announced | None:
        before = self._sessions.get(scope)
        return before if before is not None and before.still_does(now, moment) else None
