"""Session memory: the running conversation, close at hand. A copy: the table has the truth."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Protocol

from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.session_copies import Appended, SessionCopy, SharedState
from mcp_memory_server.domain.sessions import Limits, Tier
from mcp_memory_server.domain.turns import Turn


class SessionMemory(Protocol):
    """Keeps the last turns of running sessions, within a budget, for as long as their tier and depth allow.

    Every method names a scope with a session id. Any method may raise CacheUnavailableError, when the store does not
    answer within its deadline; the caller then works from the table, and must not trust a copy of this session until
    `drop` has succeeded. A method never blocks the event loop, and may be awaited from any event loop.
    """

    async def append(
        self, scope: Scope, turn: Turn, *, operation_id: str, tier: Tier, limits: Limits, now: datetime
    ) -> Appended:
        """Add a turn in one atomic round trip: append, trim, raise the counters, move the deadline.

        The turn's id is a proposal: it is raised where it would not sort after the last one, and the answer tells what
        it became. An operation id that was appended before is a repeat: nothing changes, and the answer is that of the
        first time. Appending to a session without a copy begins one that is not whole: `load` does not serve it.
        """
        ...

    async def load(self, scope: Scope) -> SessionCopy | None:
        """Return the copy in one round trip, oldest turn first; None if there is none, or it is not whole."""
        ...

    async def fill(self, scope: Scope, turns: Sequence[Turn], *, count: int, tier: Tier, now: datetime) -> bool:
        """Make the copy whole from what the table holds, newest turns last, and tell whether that was done.

        It is not done when a turn was appended that these do not hold: the caller reads the table again. ``count`` is
        how many turns the session has had. An empty session may be filled too: that is how a new one begins whole.
        """
        ...

    async def drop(self, scope: Scope) -> None:
        """Forget the copy, its state and its deadline. Dropping what is not there is no error."""
        ...

    async def read_state(self, scope: Scope) -> SharedState:
        """Return the state that agents share in this session; version 0 and nothing if none was written."""
        ...

    async def write_state(self, scope: Scope, value: Any, *, expected_version: int) -> int:
        """Replace the shared state and return its new version; its watchers are told.

        Raises:
            ConflictError: Another version is stored. Nothing was written.
        """
        ...

    def watch_state(self, scope: Scope) -> AsyncIterator[int]:
        """Yield the version of the shared state whenever it changes, from now on. Versions may be skipped."""
        ...

    async def due(self, now: datetime, *, limit: int) -> Sequence[Scope]:
        """Return sessions whose deadline has passed, the longest overdue first."""
        ...

    async def close(self) -> None:
        """Let go of the store. Closing twice is harmless."""
        ...
