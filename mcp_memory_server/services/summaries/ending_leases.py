"""Which sessions are over and not summed up yet: kept in the table, so that nobody's death loses one."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import uuid4

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
"""Longer than a model is ever waited for, twice."""
LONGEST_LIFE = max(life.later for life in LIVES.values())
LOOKED_BACK = timedelta(days=8)
"""Sessions that nobody looked after for so long are found by the command `fold`, which looks back further."""


class Endings:
    """Deadlines and claims of sessions in the table. A claim is worth nothing once somebody else has claimed."""

    def __init__(self, table: ItemTable, now: Callable[[], datetime], *, owner: str) -> None:
        self._table = table
        self._now = now
        self._owner = owner

    async def watch(self, scope: Scope, tier: Tier) -> None:
        """Have somebody look at the session when it must be over. Until then its deadline may tell earlier."""
        now = self._now()
        await self._table.update(listed(scope, now + LONGEST_LIFE, now, tier=tier))

    async def end(self, scope: Scope, ended_at: datetime) -> None:
        """Have somebody look at the session now: it was ended by its caller."""
        await self._table.update(listed(scope, ended_at, self._now(), ended=ended_at))

    async def due(self, most: int, *, back: timedelta = LOOKED_BACK) -> list[Scope]:
        """Return sessions that somebody has to look at, the longest overdue first."""
        now, found = self._now(), list[Scope]()
        day, today = (now - back).astimezone(UTC).date(), now.astimezone(UTC).date()
        while day <= today and len(found) < most:
            page = await self._table.find(endings_index(day), limit=most - len(found))
            items = await self._table.get_many(page.keys)
            read = {key: ending_from(items.get(key)) for key in page.keys}
            found += [session_of(key) for key, one in read.items() if one.due is not None and one.due <= now]
            day += timedelta(days=1)
        return found

    async def read(self, scope: Scope) -> Ending:
        """Return what is known of the session's end."""
        return ending_from(await self._table.get(ending_key(scope)))

    def is_held(self, ending: Ending) -> bool:
        """Tell whether somebody else sums the session up now."""
        return ending.is_held(self._owner, self._now())

    def is_over(self, ending: Ending, last: Turn, turn_count: int) -> bool:
        """Tell whether the session is over: ended after its last turn, or silent for as long as it lives."""
        if ending.ended is not None and last.at <= ending.ended:
            return True
        return last.at + lifetime(ending.tier, turn_count) <= self._now()

    async def claim(self, scope: Scope, ending: Ending) -> Ending | None:
        """Make the session this process's to sum up; None if somebody else was faster."""
        now = self._now()
        try:
            item = await self._table.update(
                claimed(scope, self._owner, now + LEASE, now, expected_version=ending.version),
                operation_id=uuid4().hex,
            )
        except ConflictError:
            return None
        return ending_from(item)

    def done(self, scope: Scope, claim: Ending, upto: str, *, summed_up: bool) -> Write:
        """Return the write that ends a claim. It is refused when the claim is no longer this process's."""
        return finished(scope, upto, self._now(), expected_version=claim.version, summed_up=summed_up)

    async def look_again(self, scope: Scope, ending: Ending, at: datetime) -> None:
        """Have somebody look at the session later: it goes on."""
        with suppress(ConflictError):  # somebody else sees to it
            await self._table.update(listed(scope, at, self._now(), expected_version=ending.version))

    async def forget(self, scope: Scope, ending: Ending) -> None:
        """Let go of a session that has no turns, or none any more."""
        with suppress(ConflictError):
            await self._table.delete(ending_key(scope), expected_version=ending.version)
