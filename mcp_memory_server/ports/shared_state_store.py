"""The store of shared states: one value per session, replaced only by a writer that read the last one."""

from collections.abc import AsyncIterator
from typing import Any, Protocol

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import SharedState


class SharedStateStore(Protocol):
    """One value of plain data per session, with a version.

    Every scope names a session. A state lives for at least two hours after it was last written. Any method may raise
    UnavailableError.
    """

    async def read(self, scope: Scope) -> SharedState:
        """Return the state that agents share in this session; version 0 and no value if none was written."""
        ...

    async def write(self, scope: Scope, value: Any, *, expected_version: int) -> int:
        """Replace the shared state, notify its watchers, and return its new version.

        Raises:
            ConflictError: Another version is stored. Nothing was written.
            InvalidRequestError: The value is no plain data, or is too large for the store. Nothing was written.
        """
        ...

    async def drop(self, scope: Scope) -> None:
        """Remove the shared state; the next one begins with version 1. Dropping an absent one is a no-op."""
        ...

    def watch(self, scope: Scope) -> AsyncIterator[int]:
        """Yield the version of the shared state whenever it changes, from now on. Versions may be skipped."""
        ...
