"""The stores of running sessions, measured: every call is passed on to the real one."""

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from mcp_memory_server.adapters.opentelemetry.calls import MeasuredCalls
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import (
    Appended,
    CacheContext,
    CachedSession,
    CacheMiss,
    StoredIds,
)
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.errors import CacheUnavailableError
from mcp_memory_server.ports.metric_catalogue import READ_LATENCY, SESSION_STORE_ERRORS, WRITE_LATENCY, Metric
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.ports.session_cache import SessionCache
from mcp_memory_server.ports.session_deadlines import SessionDeadlines

R = TypeVar("R")


class SessionCalls:
    """Measures calls to one engine, and counts those that it did not answer."""

    def __init__(self, metrics: Metrics, engine: str, clock: Callable[[], float] = time.perf_counter) -> None:
        self._calls = MeasuredCalls(metrics, engine, clock)

    async def make(self, metric: Metric, operation: str, call: Awaitable[R]) -> R:
        """Return what the call returns."""
        try:
            return await self._calls.make(metric, operation, call)
        except CacheUnavailableError:
            self._calls.count(SESSION_STORE_ERRORS, 1, operation=operation)
            raise


class MeasuredSessionCache:
    """Implements the port. The names of operations are those that dashboards know from the first release."""

    def __init__(self, cache: SessionCache, calls: SessionCalls) -> None:
        self._cache = cache
        self._calls = calls

    async def append(
        self, write: TurnWrite, context: CacheContext, *, after: str | None = None, enqueue: bool = False
    ) -> Appended | None:
        """See the port."""
        appended = self._cache.append(write, context, after=after, enqueue=enqueue)
        return await self._calls.make(WRITE_LATENCY, "append", appended)

    async def load(self, scope: Scope, *, epoch: int) -> CachedSession | CacheMiss:
        """See the port. The caller counts hits: it knows whether the cached session was used."""
        return await self._calls.make(READ_LATENCY, "load", self._cache.load(scope, epoch=epoch))

    async def fill(
        self,
        scope: Scope,
        session: CachedSession,
        context: CacheContext,
        *,
        token: str,
        stored: StoredIds | None = None,
    ) -> bool:
        """See the port."""
        filled = self._cache.fill(scope, session, context, token=token, stored=stored)
        return await self._calls.make(WRITE_LATENCY, "fill", filled)

    async def record_stored(self, write: TurnWrite, context: CacheContext, *, counted_in: str = "") -> None:
        """See the port."""
        recorded = self._cache.record_stored(write, context, counted_in=counted_in)
        await self._calls.make(WRITE_LATENCY, "note", recorded)

    async def drop(self, scope: Scope) -> None:
        """See the port."""
        await self._calls.make(WRITE_LATENCY, "drop", self._cache.drop(scope))

    async def sessions_of(self, user_id: str) -> Sequence[Scope]:
        """See the port."""
        return await self._cache.sessions_of(user_id)

    async def set_summary(self, scope: Scope, summary: str) -> None:
        """See the port."""
        await self._calls.make(WRITE_LATENCY, "sum_up", self._cache.set_summary(scope, summary))

    async def ping(self) -> str:
        """See the port."""
        return await self._calls.make(READ_LATENCY, "read_state", self._cache.ping())

    async def close(self) -> None:
        """See the port."""
        await self._cache.close()


class MeasuredSessionDeadlines:
    """Implements the port."""

    def __init__(self, deadlines: SessionDeadlines, calls: SessionCalls) -> None:
        self._deadlines = deadlines
        self._calls = calls

    async def due(self, now: datetime, *, limit: int) -> Sequence[Scope]:
        """See the port."""
        return await self._calls.make(READ_LATENCY, "due", self._deadlines.due(now, limit=limit))

    async def settle(self, scope: Scope, now: datetime) -> None:
        """See the port."""
        await self._calls.make(WRITE_LATENCY, "settle_deadline", self._deadlines.settle(scope, now))
