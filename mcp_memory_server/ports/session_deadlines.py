"""The deadlines of running sessions: each turn moves the deadline of its session."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from mcp_memory_server.domain.kernel.scope import Scope


class SessionDeadlines(Protocol):
    """When each cached session is over if no turn follows. Any method may raise CacheUnavailableError."""

    async def due(self, now: datetime, *, limit: int) -> Sequence[Scope]:
        """Return sessions whose deadline has passed, the longest overdue first."""
        ...

    async def settle(self, scope: Scope, now: datetime) -> None:
        """Remove the deadline if it has passed: the session was finished. A deadline that a later turn set stays."""
        ...
