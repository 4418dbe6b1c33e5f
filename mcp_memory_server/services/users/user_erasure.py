"""Erase all data of a user, wherever it is, so that no worker of any process writes it again.

1. A tombstone is written first. Whoever delivers a queued turn looks for it before and after the write, and takes back
   what was queued before the erasure; facts from turns before it are not learned.
2. Then the queues, the caches and the table are emptied, and looked at again until a pass finds nothing.
3. What no process can reach from here is named.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from mcp_memory_server.domain.kernel.items import Key, quarantine_partition
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.errors import UnavailableError
from mcp_memory_server.ports.dead_letters import DeadLetters
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.outbox import Outbox
from mcp_memory_server.ports.session_cache import SessionCache
from mcp_memory_server.ports.shared_state_store import SharedStateStore
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.erased_users import erased_user_put
from mcp_memory_server.schema.turn_records import (
    TURNS,
    counters_from,
    partitions_of,
    parts_of,
    session_of,
    sessions_of,
)

ERASED_AT_ONCE = 500
SESSIONS_AT_ONCE = 100
MOST_PASSES = 5
PAUSE_SECONDS = 0.2
"""Between two passes that found something: a write that had begun before the first may have ended after it."""

LOG_NOT_EMPTY = "the log of the memory file, which another process reads; it is emptied as soon as that ends"


@dataclass(frozen=True)
class OtherStores:
    """The stores beside the table that may hold data of a user. ``unreachable`` says what they keep out of reach."""

    sessions: SessionCache | None
    states: SharedStateStore
    queues: Sequence[Outbox | DeadLetters]
    unreachable: tuple[str, ...] = ()

    async def drop(self, scope: Scope) -> None:
        """Drop the cached session and its shared state, which may quote its turns."""
        if self.sessions is not None:
            await self.sessions.drop(scope)
        await self.states.drop(scope)


@dataclass(frozen=True)
class ForgottenUser:
    """How many items were removed, in how many passes; what was ``missing`` in the end, and what is out of reach."""

    removed: int
    passes: int
    missing: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """Whether a last look into every place found nothing."""
        return Status.PARTIAL if self.missing else Status.COMPLETE


class UserErasure:
    """Erases users."""

    def __init__(self, table: ItemTable, other_stores: Callable[[], OtherStores], now: Callable[[], datetime]) -> None:
        self._table = table
        self._other_stores = other_stores
        self._now = now

    async def erase(self, scope: Scope, progress: Callable[[int], None], *, has_writers: bool) -> ForgottenUser:
        """Erase the user and look into every place again. Without ``has_writers`` no tombstone is needed.

        Raises:
            UnavailableError: The table did not answer. Repeating the call removes the rest.
        """
        if has_writers:
            await self._table.put(erased_user_put(scope.user_id, self._now()))
        removed = passes = 0
        missing: tuple[str, ...] = ()
        while passes < MOST_PASSES:
            in_queues, missing = await self._empty_queues(scope)
            before = removed
            partitions: list[str] = []
            async for partition in self._partitions(scope):
                partitions.append(partition)
                removed += await self._empty(partition, lambda more, of=removed: progress(of + more))
            if not passes:  # nothing is moved to the quarantine of a partition that is empty
                removed += sum([await self._empty(quarantine_partition(one), lambda _: None) for one in partitions])
            found = in_queues + removed - before
            removed, passes = removed + in_queues, passes + 1
            if not found:
                break
            if passes > 1:
                await asyncio.sleep(PAUSE_SECONDS)
        else:
            missing = (*missing, "memories that somebody keeps writing; stop the agents of this user and try again")
        if not await self._table.scrub([scope.user_id]):
            missing = (*missing, LOG_NOT_EMPTY)
        return ForgottenUser(removed, passes, missing, self._other_stores().unreachable)

    async def _empty_queues(self, scope: Scope) -> tuple[int, tuple[str, ...]]:
        """Remove what is queued and cached; return how much was queued, and what could not be reached."""
        stores, removed, missing = self._other_stores(), 0, list[str]()
        for queue in stores.queues:
            try:
                removed += await queue.erase(scope.user_id)
            except UnavailableError as error:
                missing.append(f"queued turns: {error}")
        if stores.sessions is not None:
            try:
                for session in await stores.sessions.sessions_of(scope.user_id):
                    await stores.drop(session)
            except UnavailableError as error:
                missing.append(f"cached sessions: {error}")
        return removed, tuple(missing)

    async def erase_owner(self, scope: Scope) -> int:
        """Remove the memory of the owner of new facts alone, and return the number of removed items."""
        partition, removed = keys.partition_of(scope), 0
        while items := (await self._table.query(partition, limit=ERASED_AT_ONCE, attributes=())).items:
            await self._table.delete_many([item.key for item in items])
            removed += len(items)
        await self._table.scrub()
        return removed

    async def _empty(self, partition: str, progress: Callable[[int], None]) -> int:
        removed = 0
        while items := (await self._table.query(partition, limit=ERASED_AT_ONCE, attributes=())).items:
            await self._table.delete_many([item.key for item in items])
            removed += len(items)
            progress(removed)
        return removed

    async def _partitions(self, scope: Scope) -> AsyncIterator[str]:
        """Yield every partition of the user, including those of each conversation that the index lists."""
        cursor: str | None = None
        while True:
            # One pass with a cursor: the index may list items that have expired or are deleted already.
            page = await self._table.find(sessions_of(scope), limit=SESSIONS_AT_ONCE, cursor=cursor)
            for key in page.keys:
                await self._other_stores().drop(session_of(key))
                async for partition in self._partitions_of_session(key):
                    yield partition
            if (cursor := page.cursor) is None:
                break
        cursor = None
        while True:
            page = await self._table.find(keys.owned_index(scope.user_id), limit=SESSIONS_AT_ONCE, cursor=cursor)
            for key in page.keys:
                yield key.pk
            if (cursor := page.cursor) is None:
                break
        yield keys.tools_partition(scope.user_id)
        yield keys.snapshots_partition(scope.user_id)
        yield keys.states_partition(scope.user_id)
        yield keys.user_partition(scope.user_id)

    async def _partitions_of_session(self, meta: Key) -> AsyncIterator[str]:
        """Yield the partitions of one conversation; the one that names all others comes last."""
        for partition in partitions_of(meta, counters_from(await self._table.get(meta))):
            turns = await self._table.query(partition, prefix=TURNS, limit=None, attributes=("parts",))
            for turn in turns.items:
                if (parts := parts_of(turn)) is not None:
                    yield parts
            yield partition
