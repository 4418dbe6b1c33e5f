"""Append a turn to a running session: give it its id, store it, and never let the session cache miss it.

Invariants:

1. Ids rise strictly within a session. The session cache gives a turn its id; without a cached session, the id follows
   the newest turn of the table, of the outbox, and of those that this process appended.
2. A turn is acknowledged when it is in the table, or durable in the outbox. A cached turn alone is not acknowledged.
3. A turn goes to the table only when every cached session that may be used has it, or when no process may use one
   (`cache_epoch`). Otherwise it waits in the outbox.
4. A turn that reached the table late, or without the cache, is recorded in the cache before it is acknowledged: a
   session that was lost meanwhile may have been filled without it.
5. While turns of a session wait in the outbox of this process, later ones follow them through the outbox.

    proposed --id from cache or table--> placed --table answers--> stored --in time, or recorded in the cache--> done
                                           |  outbox only, table       |  cache cannot be reached
                                           v  silent, or rule 3        v
                                         queued --outbox worker: store, record in the cache------------------> done
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.acknowledge import Acknowledge
from mcp_memory_server.domain.sessions.cached_session import Appended, CacheContext, CachedSession, CacheMiss
from mcp_memory_server.domain.sessions.limits import SETTLING, Tier
from mcp_memory_server.domain.sessions.queued_turns import QueuedTurn
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import Turn, View
from mcp_memory_server.errors import CacheUnavailableError, UnavailableError
from mcp_memory_server.ports.session_cache import SessionCache
from mcp_memory_server.services.sessions.cache_epoch import EpochSnapshot
from mcp_memory_server.services.sessions.cache_recording import RECENT, record_in_cache, snapshot_or_last
from mcp_memory_server.services.sessions.outbox_worker import OutboxWorker
from mcp_memory_server.services.sessions.session_observer import SessionObserver
from mcp_memory_server.services.sessions.session_reader import before_all, cached_session_from
from mcp_memory_server.services.sessions.session_stores import SessionStores

EPOCH_ATTEMPTS = 3
"""How often appending to the cache is tried when another process begins a new epoch in between."""
SESSIONS_KNOWN = 10_000

_STORED_IN_TIME = SETTLING.total_seconds() / 2


@dataclass(frozen=True)
class AppendRequest:
    """A turn to be appended; the id of the turn is a proposal. A generated operation id cannot be a repetition."""

    write: TurnWrite
    tier: Tier = Tier.STANDARD
    may_be_repeated: bool = True


@dataclass(frozen=True)
class AppendedTurn:
    """The turn as it was kept. It was there before if the operation was repeated.

    A ``pending`` turn is durable in the outbox, and will be in the table. So many credentials were ``redacted`` in it.
    """

    turn: Turn
    repeated: bool = False
    pending: bool = False
    redacted: int = 0


@dataclass(frozen=True)
class PlacedTurn:
    """A turn with its final id.

    ``in_cache``: the cached session has it, or there is no cache. ``is_queued``: the outbox in the cache has it too.
    ``trims``: it evicted others from the cached session. ``counted_in`` is the token of the one that counts it.
    """

    write: TurnWrite
    repeated: bool
    in_cache: bool
    is_queued: bool = False
    trims: bool = False
    counted_in: str = ""


class TurnAppender:
    """Appends turns to sessions. Used from any thread and any event loop."""

    def __init__(
        self,
        stores: SessionStores,
        outbox_worker: OutboxWorker,
        observer: SessionObserver,
        *,
        acknowledge: Acknowledge = Acknowledge.TABLE,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stores = stores
        self._outbox_worker = outbox_worker
        self._waits_for_table = acknowledge is Acknowledge.TABLE
        self._monotonic = monotonic
        self._observer = observer
        self._last_ids = LruCache[Scope, str](SESSIONS_KNOWN)

    async def append(self, request: AppendRequest) -> AppendedTurn:
        """Append the turn and return it under its final id.

        Raises:
            ConflictError: Two writers chose the same id. Append the turn again.
            UnavailableError: Neither the table nor the outbox took it.
        """
        began, stores, scope = self._monotonic(), self._stores, request.write.scope
        to_table = self._waits_for_table and scope not in self._outbox_worker.queued
        placed = await self._place(request, enqueue=stores.outbox_is_in_cache and not to_table)
        return await self._kept(request, placed, began, to_table=to_table)

    async def _kept(self, request: AppendRequest, placed: PlacedTurn, began: float, *, to_table: bool) -> AppendedTurn:
        """Store a turn that has its id, or queue it."""
        stores, scope = self._stores, request.write.scope
        may_store = to_table and (placed.in_cache or stores.cache_epoch.may_bypass_cache())
        is_stored, _ = await asyncio.gather(
            self._store(placed) if may_store else _not_stored(),
            self._observer.appended(scope, request.tier, trims=placed.trims),
        )
        if is_stored:
            in_time = placed.in_cache and self._monotonic() - began < _STORED_IN_TIME
            # A session that the cache lost since the turn was placed is not filled before that time is over.
            if in_time or await record_in_cache(stores, placed.write, request.tier, counted_in=placed.counted_in):
                return AppendedTurn(placed.write.turn, placed.repeated)
        queued = QueuedTurn(scope, placed.write.turn, placed.write.operation_id, stores.now(), placed.counted_in)
        await self._outbox_worker.queue(queued, is_queued=placed.is_queued)
        return AppendedTurn(placed.write.turn, placed.repeated, pending=True)

    async def append_all(self, requests: Sequence[AppendRequest]) -> list[AppendedTurn]:
        """Append turns of one session, in order: new ones with one read and one write of the table.

        Raises:
            ConflictError: Two writers chose the same id. Some may be stored: append each of the turns again.
            UnavailableError: Neither the table nor the outbox took them. Some may be stored.
        """
        stores, scope = self._stores, requests[0].write.scope
        if not self._waits_for_table or scope in self._outbox_worker.queued:
            return [await self.append(request) for request in requests]
        if stores.cache is not None:
            return await self._append_all_cached(requests)
        known = await self._recent_operations(requests[0])
        if any(request.write.operation_id in known for request in requests):
            return [await self.append(request) for request in requests]
        placed: list[PlacedTurn] = []
        for request in requests:
            await self._observer.appended(scope, request.tier, trims=False)
            placed.append(self._place_after(request.write, max(known.values(), default="")))
        if not await self._store_all([one.write for one in placed]):
            for one in placed:
                queued = QueuedTurn(scope, one.write.turn, one.write.operation_id, stores.now())
                await self._outbox_worker.queue(queued, is_queued=False)
            return [AppendedTurn(one.write.turn, pending=True) for one in placed]
        return [AppendedTurn(one.write.turn) for one in placed]

    async def _append_all_cached(self, requests: Sequence[AppendRequest]) -> list[AppendedTurn]:
        """Append turns with one write of the table, after each was placed in the cache."""
        began, stores, scope = self._monotonic(), self._stores, requests[0].write.scope
        placed = [await self._place(request, enqueue=False) for request in requests]
        if not all(one.in_cache and not one.repeated for one in placed):
            both = zip(requests, placed, strict=True)
            return [await self._kept(request, one, began, to_table=True) for request, one in both]
        is_stored, *_ = await asyncio.gather(
            self._store_all([one.write for one in placed]),
            *(
                self._observer.appended(scope, request.tier, trims=one.trims)
                for request, one in zip(requests, placed, strict=True)
            ),
        )
        in_time = is_stored and self._monotonic() - began < _STORED_IN_TIME
        appended: list[AppendedTurn] = []
        for request, one in zip(requests, placed, strict=True):
            recorded = in_time or (
                is_stored and await record_in_cache(stores, one.write, request.tier, counted_in=one.counted_in)
            )
            if not recorded:
                queued = QueuedTurn(scope, one.write.turn, one.write.operation_id, stores.now(), one.counted_in)
                await self._outbox_worker.queue(queued, is_queued=False)
            appended.append(AppendedTurn(one.write.turn, pending=not recorded))
        return appended

    async def _store_all(self, writes: Sequence[TurnWrite]) -> bool:
        """Write the turns to the table; return False if the outbox has to take them because it did not answer."""
        stores = self._stores
        try:
            await stores.timeout.ask(lambda: stores.stored.put_all(writes))
        except UnavailableError:
            if stores.outbox is None:
                raise
            return False
        return True

    def _place_after(self, write: TurnWrite, newest: str) -> PlacedTurn:
        """Give the turn an id after this one, and after that of every turn that this process appended."""
        last = max(newest, self._last_ids.get(write.scope) or "")
        if write.turn.id <= last:
            write = write.with_id(ulid_after(last, write.turn.at))
        placed_id = write.turn.id
        self._last_ids.update(write.scope, lambda last: max(last or "", placed_id))
        return PlacedTurn(write, repeated=False, in_cache=True)

    async def _store(self, placed: PlacedTurn) -> bool:
        """Write the turn to the table; return False if the outbox has to take it because the table did not answer."""
        stores = self._stores
        try:
            await stores.timeout.ask(lambda: stores.stored.put(placed.write, again=placed.repeated))
        except UnavailableError:
            if stores.outbox is None:
                raise
            return False
        return True

    async def _place(self, request: AppendRequest, *, enqueue: bool) -> PlacedTurn:
        """Give the turn its final id and put it into the cache; with ``enqueue``, into the outbox there as well.

        A process that cannot reach the cache announces that, and goes on without it.
        """
        stores, write = self._stores, request.write
        last = self._last_ids.get(write.scope) or ""
        if write.turn.id <= last:
            request = replace(request, write=write.with_id(ulid_after(last, write.turn.at)))
        placed = None
        if stores.cache is not None and not stores.cache_epoch.is_disconnected:
            try:
                placed = await self._place_in_cache(stores.cache, request, enqueue=enqueue)
            except CacheUnavailableError:
                stores.cache_epoch.disconnect()
        placed = placed or await self._place_after_table(request)
        placed_id = placed.write.turn.id
        self._last_ids.update(write.scope, lambda last: max(last or "", placed_id))
        return placed

    async def _place_in_cache(self, cache: SessionCache, request: AppendRequest, *, enqueue: bool) -> PlacedTurn:
        stores, write = self._stores, request.write
        for _ in range(EPOCH_ATTEMPTS):
            snapshot = stores.cache_epoch.fresh_snapshot() or await snapshot_or_last(stores)
            context = CacheContext(request.tier, stores.limits, stores.now(), snapshot.epoch)
            appended = None
            if snapshot.may_use_cache:
                appended = await self._append(cache, request, context, None, enqueue=enqueue)
            if appended is None:
                recent = await self._fill_from_table(cache, request, snapshot)
                if write.operation_id in recent:
                    return PlacedTurn(write.with_id(recent[write.operation_id]), repeated=True, in_cache=True)
                after = max(recent.values(), default="")
                appended = await self._append(cache, request, context, after, enqueue=enqueue)
            if appended is not None:
                return PlacedTurn(
                    write.with_id(appended.turn_id),
                    appended.repeated,
                    in_cache=True,
                    is_queued=enqueue and not appended.repeated,  # the first time it may have been meant for the table
                    trims=bool(appended.trimmed),
                    counted_in=appended.token,
                )
            await stores.timeout.ask(stores.cache_epoch.refresh)
        raise CacheUnavailableError("the session cache began one epoch after the other")

    async def _append(
        self,
        cache: SessionCache,
        request: AppendRequest,
        context: CacheContext,
        after: str | None,
        *,
        enqueue: bool,
    ) -> Appended | None:
        try:
            return await cache.append(request.write, context, after=after, enqueue=enqueue)
        except CacheUnavailableError:
            # Disconnecting costs every process its cache, so it is tried once more. The operation id keeps it one turn.
            appended = await cache.append(request.write, context, after=after, enqueue=enqueue)
            return appended and replace(appended, repeated=appended.repeated and request.may_be_repeated)

    async def _fill_from_table(
        self, cache: SessionCache, request: AppendRequest, snapshot: EpochSnapshot
    ) -> Mapping[str, str]:
        """Fill the cached session from the table, and return the last operations there with the ids of their turns."""
        stores, scope = self._stores, request.write.scope
        miss = await cache.load(scope, epoch=snapshot.epoch)
        try:
            since = before_all([miss.oldest_recorded]) if isinstance(miss, CacheMiss) else None
            page = await stores.timeout.ask(lambda: stores.stored.last(scope, RECENT, View.EVERYTHING, since=since))
        except UnavailableError:
            return {"": self._last_ids.get(scope) or ""}  # the turn is queued, and compared with the table then
        if not isinstance(miss, CachedSession) and miss.may_be_filled and page.answered == page.partitions:
            context = CacheContext(request.tier, stores.limits, stores.now(), snapshot.epoch)
            await cache.fill(scope, cached_session_from(page), context, token=miss.token, stored=page.stored)
        return page.operations

    async def _place_after_table(self, request: AppendRequest) -> PlacedTurn:
        write, recent = request.write, await self._recent_operations(request)
        in_cache = self._stores.cache is None
        if write.operation_id in recent:
            return PlacedTurn(write.with_id(recent[write.operation_id]), repeated=True, in_cache=in_cache)
        newest = max(recent.values(), default="")
        if write.turn.id <= newest:
            write = write.with_id(ulid_after(newest, write.turn.at))
        return PlacedTurn(write, repeated=False, in_cache=in_cache)

    async def _recent_operations(self, request: AppendRequest) -> Mapping[str, str]:
        """Return the last operations of the session with the ids of their turns, from the outbox and the table."""
        stores, scope, most = self._stores, request.write.scope, RECENT if request.may_be_repeated else 1
        operations: dict[str, str] = {}
        if stores.outbox is not None:
            with suppress(UnavailableError):
                queued = await stores.outbox.waiting(scope)
                operations = {one.operation_id: one.turn.id for one in queued}
        with suppress(UnavailableError):  # the turn is queued then, and compared with the table when it is delivered
            operations |= await stores.timeout.ask(lambda: stores.stored.recent(scope, most))
        return operations


async def _not_stored() -> bool:
    return False
