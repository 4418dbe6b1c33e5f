"""Leases of session finalization, kept in the table: no process's death loses a session, and no two finalize one.

`session_finalizer` has the invariants and the state diagram of the protocol.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.kernel.items import Write
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.limits import LIVES, Tier, lifetime
from mcp_memory_server.domain.sessions.turns import Turn
from mcp_memory_server.errors import ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.ending_records import (
    Ending,
    claimed,
    ending_from,
    ending_key,
    endings_index,
    finished,
    listed,
)
from mcp_memory_server.schema.turn_records import session_of

LEASE = timedelta(minutes=2)
"""Longer than two attempts to ask a model may take."""
SESSIONS_SEEN = 1000
LONGEST_LIFE = max(life.later for life in LIVES.values())
LOOKED_BACK = timedelta(days=8)
"""Sessions that were due before that are found only by the command `fold`, which looks back further."""


class SessionLeases:
    """When each session is due, and which process finalizes it. The version of the record is the fencing token."""

    def __init__(
        self,
        table: ItemTable,
        now: Callable[[], datetime],
        *,
        owner: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table = table
        self._now = now
        self._owner = owner
        self._monotonic = monotonic
        self._seen = LruCache[Scope, tuple[int, float]](SESSIONS_SEEN)

    async def watch(self, scope: Scope, tier: Tier) -> None:
        """List the session as due when it must be over. The session cache may report it earlier."""
        now = self._now()
        await self._table.update(listed(scope, now + LONGEST_LIFE, now, tier=tier))

    async def record_end(self, scope: Scope, ended_at: datetime) -> None:
        """List the session as due now: its caller has ended it."""
        await self._table.update(listed(scope, ended_at, self._now(), ended=ended_at))

    async def list_due(self, most: int, *, back: timedelta = LOOKED_BACK) -> list[Scope]:
        """Return due sessions, the longest overdue first."""
        now, found = self._now(), list[Scope]()
        day, today = (now - back).astimezone(UTC).date(), now.astimezone(UTC).date()
        while day <= today and len(found) < most:
            page = await self._table.find(endings_index(day), limit=most - len(found))
            items = await self._table.get_many(page.keys)
            records = {key: ending_from(items.get(key)) for key in page.keys}
            found += [session_of(key) for key, one in records.items() if one.due is not None and one.due <= now]
            day += timedelta(days=1)
        return found

    async def read(self, scope: Scope) -> Ending:
        """Return the session's record; its defaults if there is none."""
        return ending_from(await self._table.get(ending_key(scope)))

    def is_held_elsewhere(self, scope: Scope, record: Ending) -> bool:
        """Return whether another process holds the lease.

        Clocks of machines differ: a lease that this process saw unchanged for `LEASE` is over, whatever time it names.
        """
        if not record.is_held(self._owner, self._now()):
            return False
        moment = self._monotonic()
        version, since = self._seen.get(scope) or (record.version, moment)
        if version != record.version:
            since = moment
        self._seen.put(scope, (record.version, since))
        return moment - since < LEASE.total_seconds()

    def is_over(self, record: Ending, last: Turn, turn_count: int) -> bool:
        """Return whether the session was ended after its last turn, or has been idle for its lifetime."""
        if record.ended is not None and last.at <= record.ended:
            return True
        return last.at + lifetime(record.tier, turn_count) <= self._now()

    async def acquire(self, scope: Scope, record: Ending) -> Ending | None:
        """Take the lease and return the record as it is now; None if another process was faster."""
        now = self._now()
        try:
            item = await self._table.update(
                claimed(scope, self._owner, now + LEASE, now, expected_version=record.version),
                operation_id=uuid4().hex,
            )
        except ConflictError:
            return None
        return ending_from(item)

    def completion(self, scope: Scope, lease: Ending, upto: str, *, summarized: bool) -> Write:
        """Return the write that completes a lease. The table refuses it if the lease was lost."""
        return finished(scope, upto, self._now(), expected_version=lease.version, summed_up=summarized)

    async def postpone(self, scope: Scope, record: Ending, until: datetime) -> None:
        """List the session as due later."""
        with suppress(ConflictError):  # another process has changed the record since, and takes care of it
            await self._table.update(listed(scope, until, self._now(), expected_version=record.version))

    async def discard(self, scope: Scope, record: Ending) -> None:
        """Delete the record of a session without turns."""
        with suppress(ConflictError):
            await self._table.delete(ending_key(scope), expected_version=record.version)
