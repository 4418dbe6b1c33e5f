"""The session memory with measured calls."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from mcp_memory_server.adapters.opentelemetry.calls import MeasuredCalls
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import Appended, CachedSession, CacheMiss, SharedState
from mcp_memory_server.domain.sessions.limits import Limits, Tier
from mcp_memory_server.domain.sessions.turns import Turn
from mcp_memory_server.errors import CacheUnavailableError
from mcp_memory_server.ports.metric_catalogue import READ_LATENCY, SESSION_STORE_ERRORS, WRITE_LATENCY, Metric
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.ports.session_memory import SessionMemory

R = TypeVar("R")


class MeasuredSessionMemory:
    """Answers the session memory's port. ``engine`` is the label of the real store."""

    def __init__(
        self, sessions: SessionMemory, metrics: Metrics, *, engine: str, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._sessions = sessions
        self._calls = MeasuredCalls(metrics, engine, clock)

    async def append(
        self,
        scope: Scope,
        turn: Turn,
        *,
        operation_id: str,
        tier: Tier,
        limits: Limits,
        now: datetime,
        epoch: int,
        after: str | None = None,
        enqueue: bool = False,
    ) -> Appended | None:
        """See the port."""
        appended = self._sessions.append(
            scope,
            turn,
            operation_id=operation_id,
            tier=tier,
            limits=limits,
            now=now,
            epoch=epoch,
            after=after,
            enqueue=enqueue,
        )
        return await self._make(WRITE_LATENCY, "append", appended)

    async def load(self, scope: Scope, *, epoch: int) -> CachedSession | CacheMiss:
        """See the port. Whether it was a hit is for the caller to say, who knows whether the copy was served."""
        return await self._make(READ_LATENCY, "load", self._sessions.load(scope, epoch=epoch))

    async def fill(
        self, scope: Scope, copy: CachedSession, *, token: str, tier: Tier, limits: Limits, now: datetime, epoch: int
    ) -> bool:
        """See the port."""
        filled = self._sessions.fill(scope, copy, token=token, tier=tier, limits=limits, now=now, epoch=epoch)
        return await self._make(WRITE_LATENCY, "fill", filled)

    async def note(
        self, scope: Scope, turn: Turn, *, operation_id: str, tier: Tier, limits: Limits, now: datetime, epoch: int
    ) -> None:
        """See the port."""
        noted = self._sessions.note(
            scope, turn, operation_id=operation_id, tier=tier, limits=limits, now=now, epoch=epoch
        )
        await self._make(WRITE_LATENCY, "note", noted)

    async def drop(self, scope: Scope) -> None:
        """See the port."""
        await self._make(WRITE_LATENCY, "drop", self._sessions.drop(scope))

    async def read_state(self, scope: Scope) -> SharedState:
        """See the port."""
        return await self._make(READ_LATENCY, "read_state", self._sessions.read_state(scope))

    async def write_state(self, scope: Scope, value: Any, *, expected_version: int) -> int:
        """See the port."""
        written = self._sessions.write_state(scope, value, expected_version=expected_version)
        return await self._make(WRITE_LATENCY, "write_state", written)

    def watch_state(self, scope: Scope) -> AsyncIterator[int]:
        """See the port. It waits for as long as nothing changes, so there is nothing to measure."""
        return self._sessions.watch_state(scope)

    async def due(self, now: datetime, *, limit: int) -> Sequence[Scope]:
        """See the port."""
        return await self._make(READ_LATENCY, "due", self._sessions.due(now, limit=limit))

    async def settle_deadline(self, scope: Scope, now: datetime) -> None:
        """See the port."""
        await self._make(WRITE_LATENCY, "settle_deadline", self._sessions.settle_deadline(scope, now))

    async def sum_up(self, scope: Scope, summary: str) -> None:
        """See the port."""
        await self._make(WRITE_LATENCY, "sum_up", self._sessions.sum_up(scope, summary))

    async def close(self) -> None:
        """See the port."""
        await self._sessions.close()

    async def _make(self, metric: Metric, operation: str, call: Awaitable[R]) -> R:
        try:
            return await self._calls.make(metric, operation, call)
        except CacheUnavailableError:
            self._calls.count(SESSION_STORE_ERRORS, 1, operation=operation)
            raise
