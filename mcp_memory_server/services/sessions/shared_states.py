"""Shared states: one value per session that its agents read, replace and watch."""

from collections.abc import AsyncIterator
from typing import Any

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import SharedState
from mcp_memory_server.ports.shared_state_store import SharedStateStore


class SharedStates:
    """One value per session, with a version. It lives as long as the longest session does."""

    def __init__(self, store: SharedStateStore) -> None:
        self._store = store

    async def read(self, scope: Scope) -> SharedState:
        """Return the state; version 0 and nothing if none was written.

        Raises:
            UnavailableError: The store does not answer.
        """
        return await self._store.read(scope.personal)

    async def write(self, scope: Scope, value: Any, *, expected_version: int) -> int:
        """Replace the state and return its new version; its watchers are notified.

        Raises:
            ConflictError: Another version is stored. Nothing was written.
            UnavailableError: The store does not answer. The state may have been written.
        """
        return await self._store.write(scope.personal, value, expected_version=expected_version)

    def watch(self, scope: Scope) -> AsyncIterator[int]:
        """Yield the version of the state whenever it changes, from now on. Versions may be skipped."""
        return self._store.watch(scope.personal)
