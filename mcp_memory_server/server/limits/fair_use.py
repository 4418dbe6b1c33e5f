"""What one user may take from the others: calls per second, records per day, and calls at once.

Counted by each server process, in memory. What is over a limit is refused as busy, with the time after which it will be
accepted; a user within the limits waits only for calls of their own.
"""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.errors import BusyError
from mcp_memory_server.server.limits.token_bucket import TokenBucket

BURST_SECONDS = 5
"""The calls of so many seconds may come at once."""

CALLS_AT_ONCE = 4
CALLS_WAITING = 32
WAITING_SECONDS = 1.0
"""When to try again after too many calls at once."""

RECORD_BYTES = 16 * 1024
"""A larger request counts as several records."""

DAY_SECONDS = 86_400
MOST_USERS = 10_000
"""How many users are remembered; the one that was quiet for longest is forgotten first."""


@dataclass
class _Use:
    calls: TokenBucket
    records: TokenBucket
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CALLS_AT_ONCE))
    in_flight: int = 0


class FairUse:
    """Counts what each user takes, and refuses what is over the limits."""

    def __init__(
        self, *, calls_per_second: float, records_per_day: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._calls_per_second = calls_per_second
        self._records_per_day = records_per_day
        self._monotonic = monotonic
        self._uses = LruCache[str, _Use](MOST_USERS, may_evict=lambda use: use.in_flight == 0)

    @asynccontextmanager
    async def call(self, user: str, *, written_bytes: int = 0) -> AsyncGenerator[None]:
        """Run a call of this user, in turn. ``written_bytes`` is the size of a request that stores something.

        Raises:
            BusyError: It is over a limit.
        """
        use = self._uses.get_or_add(user, self._new)
        self._count(use, math.ceil(written_bytes / RECORD_BYTES))
        use.in_flight += 1
        try:
            async with use.slots:
                yield
        finally:
            use.in_flight -= 1

    def _new(self) -> _Use:
        now, per_second = self._monotonic(), self._calls_per_second
        return _Use(
            TokenBucket.full(per_second * BURST_SECONDS, per_second, now),
            TokenBucket.full(self._records_per_day, self._records_per_day / DAY_SECONDS, now),
        )

    def _count(self, use: _Use, records: int) -> None:
        now = self._monotonic()
        if use.in_flight >= CALLS_AT_ONCE + CALLS_WAITING:
            raise BusyError("too many calls at once", WAITING_SECONDS)
        if wait := use.calls.wait_for(1, now):
            raise BusyError(f"more than {self._calls_per_second:g} calls per second", wait)
        if records and (wait := use.records.wait_for(records, now)):
            raise BusyError(f"more than {self._records_per_day:g} records per day", wait)
        use.calls.take(1)
        use.records.take(records)
