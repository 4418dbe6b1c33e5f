"""Shared states: what the agents of a session know together, changed by one at a time."""

from collections.abc import AsyncIterator
from typing import Any

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import SharedState
from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.ports.session_memory import SessionMemory


class SharedStates:
    """One value a session, with a version. It lives as long as a session does, in the session memory alone."""

    def __init__(self, sessions: SessionMemory | None) -> None:
        self._sessions = sessions

    async def read(self, scope: Scope) -> SharedState:
        """Return the state; version 0 and nothing if none was written.

        Raises:
            CacheUnavailableError: The session memory does not answer.
        """
        return await self._store().read_state(scope)

    async def write(self, scope: Scope, value: Any, *, expected_version: int) -> int:
        """Replace the state and return its new version; whoever watches it is told.

        Raises:
            ConflictError: Another version is stored. Nothing was written.
            CacheUnavailableError: The session memory does not answer. It may have been written.
        """
        return await self._store().write_state(scope, value, expected_version=expected_version)

    def watch(self, scope: Scope) -> AsyncIterator[int]:
        """Yield the version of the state whenever it changes, from now on. Versions may be skipped."""
        return self._store().watch_state(scope)

    def _store(self) -> SessionMemory:
        if self._sessions is None:
            raise ConfigurationError("agents share a state in the session memory; set MCP_MEMORY_SESSIONS to one")
        return self._sessions
