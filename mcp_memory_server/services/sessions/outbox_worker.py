"""Deliver queued turns to the table, write counters, and watch the connection to the session cache.

See `ports.outbox` for the leases, `cache_epoch` for the connection, and `domain.sessions.counts` for the counters.
"""

import asyncio
import itertools
import logging
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock

from mcp_memory_server.concurrency.background_worker import BackgroundWorker
from mcp_memory_server.domain.kernel.log_labels import log_label
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.queued_turns import ClaimedTurn, DeadLetter, QueuedTurn
from mcp_memory_server.errors import (
    CacheUnavailableError,
    ConfigurationError,
    MemoryServerError,
    TooLargeError,
    UnavailableError,
)
from mcp_memory_server.ports.dead_letters import DeadLetters
from mcp_memory_server.ports.metric_catalogue import DEAD_LETTERS, OUTBOX_DELIVERY, OUTBOX_LAG, OUTBOX_TURNS
from mcp_memory_server.services.sessions.cache_recording import RECENT, drop_from_cache, record_in_cache
from mcp_memory_server.services.sessions.session_stores import SessionStores

CLAIMED_AT_ONCE = 100
SESSIONS_AT_ONCE = 16
LEASE = timedelta(seconds=30)
MOST_ATTEMPTS = 20
"""With the pauses below that is about ten minutes without a table."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 60.0
IDLE_SECONDS = 5.0
"""How long the turns of a dead process may wait, beyond its lease, before another process claims them."""
PROBE_SECONDS = 1.0
DRAIN_SECONDS = 10.0
LAST_SECONDS = 2.0
UNDELIVERABLE_PAUSE = timedelta(hours=1)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Round:
    """The result of a round."""

    delivered: int = 0
    put_off: int = 0


class OutboxWorker:
    """Delivers queued turns to the table, writes counters and probes the session cache, in the background.

    Used from any thread and any event loop.
    """

    def __init__(
        self,
        stores: SessionStores,
        dead_letters: DeadLetters | None,
        *,
        owner: str,
    ) -> None:
        self._stores = stores
        self._dead_letters = dead_letters
        self._owner = owner
        self._worker = BackgroundWorker("memory-outbox", self._round, self._finish)
        self._lock = Lock()
        self.queued: Counter[Scope] = Counter()
        """How many turns of a session this process queued that are not delivered yet: later turns follow them."""
        self._close_by = 0.0

    async def queue(self, queued: QueuedTurn, *, is_queued: bool) -> None:
        """Queue a turn, unless that was done together with caching it, and start delivering it.

        Raises:
            UnavailableError: It could not be queued.
        """
        if self._stores.outbox is None:
            raise UnavailableError("the table did not take the turn in time, and there is no outbox; repeat the call")
        if not is_queued:
            await self._stores.outbox.add(queued)
        with self._lock:
            self.queued[queued.scope] += 1
        self.wake()

    def wake(self) -> None:
        """Start a round now."""
        self._worker.wake()

    async def close(self, within: timedelta = timedelta(seconds=DRAIN_SECONDS)) -> None:
        """Deliver what is queued, as far as time allows. The rest stays in the outbox for another process."""
        # Cancelling this is harmless: what was acknowledged is durable already.
        self._close_by = time.monotonic() + within.total_seconds()
        await self._worker.close(within.total_seconds() + LAST_SECONDS, round_within=within.total_seconds())

    async def _round(self) -> float:
        """Do everything that is due, and return the pause in seconds."""
        await self._check_connection()
        result = await self._deliver_some()
        await self._count()
        await self._record_queue_length()
        if result.delivered:
            return 0.0
        if result.put_off:
            return FIRST_PAUSE
        return (
            PROBE_SECONDS
            if self._stores.cache_epoch.is_disconnected or self._stores.stored.uncounted()
            else IDLE_SECONDS
        )

    async def _finish(self) -> None:
        """Deliver what this process queued, as far as time allows, and release its leases and watermarks."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, self._close_by - time.monotonic())):
                await self._drain()
        with suppress(TimeoutError, UnavailableError):
            async with asyncio.timeout(LAST_SECONDS):
                if self._stores.outbox is not None:
                    await self._stores.outbox.release(self._owner)
                await self._count(all_of_them=True)
                if self._stores.cache_epoch.is_disconnected:  # from now on it writes nothing past the cache
                    await self._stores.cache_epoch.reconnect()

    async def _drain(self) -> None:
        while True:
            result = await self._deliver_some()
            await self._record_queue_length()
            if not result.delivered:
                if not self.queued:
                    return
                await asyncio.sleep(FIRST_PAUSE)

    async def _check_connection(self) -> None:
        """While this process is disconnected: find out whether the session cache is back, and announce it."""
        cache, epoch = self._stores.cache, self._stores.cache_epoch
        if cache is None or not epoch.is_disconnected:
            return
        with suppress(UnavailableError):  # the next round tries again
            try:
                may_reconnect = await epoch.may_reconnect()
            except CacheUnavailableError:
                may_reconnect = False
            await (epoch.reconnect() if may_reconnect else epoch.heartbeat())

    async def _count(self, *, all_of_them: bool = False) -> None:
        try:
            await self._stores.stored.write_counts(all_of_them=all_of_them)
        except MemoryServerError as error:
            logger.warning("counters of conversations are not written yet: %s", error)

    async def _record_queue_length(self) -> None:
        outbox, metrics = self._stores.outbox, self._stores.metrics
        if outbox is None:
            return
        with suppress(UnavailableError):
            waiting = await outbox.length()
            lag = timedelta(0) if waiting.oldest is None else self._stores.now() - waiting.oldest
            metrics.record(OUTBOX_TURNS, waiting.turns)
            metrics.record(OUTBOX_LAG, max(0.0, lag / timedelta(milliseconds=1)))
            if not waiting.turns:  # another process may have delivered what this one queued
                self.queued.clear()

    async def _deliver_some(self) -> _Round:
        outbox = self._stores.outbox
        if outbox is None or (
            self._stores.cache_epoch.is_disconnected and not self._stores.cache_epoch.may_bypass_cache()
        ):
            return _Round()
        try:
            claimed = await outbox.claim(self._owner, lease=LEASE, most=CLAIMED_AT_ONCE)
        except UnavailableError as error:
            logger.warning("the outbox could not be read: %s", error)
            return _Round(put_off=1)
        in_order = sorted(claimed, key=lambda one: _owner_of(one.queued.scope))  # stable: a session's stay in order
        sessions = [list(some) for _, some in itertools.groupby(in_order, key=lambda one: one.queued.scope)]
        limit = asyncio.Semaphore(SESSIONS_AT_ONCE)

        async def deliver(turns: Sequence[ClaimedTurn]) -> _Round:
            async with limit:
                return await self._deliver(turns)

        rounds = await asyncio.gather(*(deliver(turns) for turns in sessions))
        return _Round(sum(one.delivered for one in rounds), sum(one.put_off for one in rounds))

    async def _deliver(self, claimed: Sequence[ClaimedTurn]) -> _Round:
        """Deliver turns of one session, one after the other, until one of them has to wait."""
        scope, done = claimed[0].queued.scope, list[str]()
        result = _Round()
        try:
            if await self._drop_if_erased(claimed, done):
                await self._remove(scope, done)
                return _Round(len(done))
            # A turn that was queued while the table could not be asked may be a repetition.
            known = await self._stores.stored.recent(scope, RECENT)
            for one in claimed:
                if not await self._store(one, known):
                    break
                done.append(one.receipt)
        except UnavailableError as error:
            result = await self._put_off(claimed[len(done)], error)
        try:  # again: the user may have been erased while they were written
            if await self._drop_if_erased(claimed, []):
                done = [one.receipt for one in claimed]
        except UnavailableError as error:
            return await self._put_off(claimed[0], error)  # they stay queued, and are looked at again
        await self._remove(scope, done)
        return _Round(len(done), result.put_off)

    async def _drop_if_erased(self, claimed: Sequence[ClaimedTurn], done: list[str]) -> bool:
        """Take back what an erased user had queued, and add it to ``done``; return whether it is erased.

        Another worker may have stored some of it before.
        """
        scope = claimed[0].queued.scope
        stored = self._stores.stored
        erased_before = await stored.erased_before(scope.user_id)
        gone = [one for one in claimed if one.queued.queued_at <= erased_before]
        if not gone:
            return False
        await stored.take_back([one.queued.write for one in gone])
        await drop_from_cache(self._stores, scope)
        done += [one.receipt for one in gone]
        return True

    async def _store(self, claimed: ClaimedTurn, known: Mapping[str, str]) -> bool:
        """Write the turn and return whether it is settled; if not, a later round delivers it."""
        queued = claimed.queued
        if known.get(queued.operation_id, queued.turn.id) != queued.turn.id:
            return await drop_from_cache(self._stores, queued.scope)  # it counted the turn
        try:
            await self._stores.stored.put(queued.write, again=True)
        except UnavailableError:
            raise
        except MemoryServerError as error:
            return await self._bury(claimed, error)
        if not await record_in_cache(self._stores, queued.write, counted_in=queued.counted_in):
            return False
        waited = self._stores.now() - queued.queued_at
        self._stores.metrics.record(OUTBOX_DELIVERY, max(0.0, waited / timedelta(milliseconds=1)))
        return True

    async def _put_off(self, claimed: ClaimedTurn, error: UnavailableError) -> _Round:
        outbox = self._stores.outbox
        if claimed.attempts + 1 >= MOST_ATTEMPTS and await self._bury(claimed, error):
            await self._remove(claimed.queued.scope, [claimed.receipt])
        elif outbox is not None:
            longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2**claimed.attempts)
            pause = timedelta(seconds=random.uniform(longest / 2, longest))  # noqa: S311 - no secret depends on it
            with suppress(UnavailableError):
                await outbox.put_off(self._owner, claimed.receipt, pause)
        return _Round(put_off=1)

    async def _bury(self, claimed: ClaimedTurn, error: MemoryServerError) -> bool:
        """Add the turn to the dead letters; return whether that succeeded, so that it may leave the outbox."""
        reason = f"{type(error).__name__}: {error}"
        queued, label = claimed.queued, log_label(claimed.queued.scope)
        logger.error(
            "%s: operation %s cannot be stored and becomes a dead letter: %s", label, queued.operation_id, reason
        )
        self._stores.metrics.record(DEAD_LETTERS, 1)
        try:
            if self._dead_letters is not None:
                await self._dead_letters.add(DeadLetter(queued, reason, self._stores.now()))
                return True
        except (UnavailableError, TooLargeError, ConfigurationError) as refused:
            logger.error("%s: the dead letter stays in the outbox: %s", label, refused)  # noqa: TRY400 - it is not a bug
        if self._stores.outbox is not None:
            await self._stores.outbox.put_off(self._owner, claimed.receipt, UNDELIVERABLE_PAUSE)
        return False

    async def _remove(self, scope: Scope, receipts: Sequence[str]) -> None:
        if not receipts or self._stores.outbox is None:
            return
        with suppress(UnavailableError):  # they are delivered again, which is harmless
            await self._stores.outbox.remove(self._owner, receipts)
            with self._lock:
                self.queued[scope] = max(0, self.queued[scope] - len(receipts))
                if not self.queued[scope]:
                    del self.queued[scope]


def _owner_of(scope: Scope) -> tuple[str, str]:
    return scope.user_id, scope.session_id or ""
