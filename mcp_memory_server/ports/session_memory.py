"""The session memory: a copy of running conversations, close at hand. The table has the truth."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Protocol

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import Appended, CachedSession, CacheMiss, SharedState
from mcp_memory_server.domain.sessions.limits import Limits, Tier
from mcp_memory_server.domain.sessions.turns import Turn


class SessionMemory(Protocol):
    """The turns of running sessions, within a budget, for as long as their tier and depth allow.

    Every method names a scope with a session id. Any method may raise CacheUnavailableError, when the store does not
    answer within its deadline: it may or may not have done what was asked. A method never blocks the event loop, and
    may be awaited from any event loop.

    A copy is whole when it holds every turn that the table holds, but for those that made way. Only such a copy is
    served. A turn is appended here first and written to the table afterwards, so a copy that was lost and is filled
    again from the table could miss a turn which is on its way there. Therefore a copy can only be filled with a token
    that was given out after the loss, and not before the session has settled: after so long, which the store knows,
    every turn on its way has arrived. Turns appended since the token was given out are recorded, and join the copy
    when it is filled. Whoever takes longer than that to write a turn to the table says so with `note`.

    ``epoch`` counts how often all copies became doubtful (somebody wrote to the table and could not reach this store).
    A copy of another epoch than the caller's is forgotten, unless the copy's is later: then the caller's view is old,
    and it is answered as if there were no copy that may be filled.
    """

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
        """Add a turn in one atomic round trip: append, trim, raise the counters, move the deadline.

        The turn's id is a proposal: it is raised where it would not sort after the last one, and the answer tells what
        it became. An operation id that was appended before is a repeat: nothing changes, and the answer is that of the
        first time.

        Without a whole copy the order of ids is not known here: then None is returned and nothing is appended, unless
        the caller says ``after`` which id the turn has to sort, the newest that the table holds ("" if it holds
        none). Then it is recorded. With ``enqueue`` it is also put into the outbox of this store, in the same step.
        """
        ...

    async def load(self, scope: Scope, *, epoch: int) -> CachedSession | CacheMiss:
        """Return the copy in one round trip, oldest turn first; where none may be served, what it takes to fill one."""
        ...

    async def fill(
        self, scope: Scope, copy: CachedSession, *, token: str, tier: Tier, limits: Limits, now: datetime, epoch: int
    ) -> bool:
        """Make the copy whole from what the table holds, and tell whether that was done.

        What was recorded since the token was given out, and is not among these turns, joins them, counts, and is
        trimmed with them. It is not done when the copy was lost or dropped since, or may not be filled yet; nothing
        is changed then. Where the copy is whole already nothing is changed either, and the answer is True.
        """
        ...

    async def note(
        self, scope: Scope, turn: Turn, *, operation_id: str, tier: Tier, limits: Limits, now: datetime, epoch: int
    ) -> None:
        """Put a turn that the table holds into its place among the turns at hand, if it was not appended here.

        Its id stays as it is. Where there is no copy nothing is begun; where one is being filled, it is recorded. A
        copy of an earlier epoch, or one that knows the operation under another id, is forgotten: it begins anew, with
        this turn recorded.
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

    async def settle_deadline(self, scope: Scope, now: datetime) -> None:
        """Take the deadline away if it has passed: the session was seen to. One that a later turn set stays."""
        ...

    async def sum_up(self, scope: Scope, summary: str) -> None:
        """Replace the rolling summary of the copy. Where there is no whole copy, nothing is changed."""
        ...

    async def close(self) -> None:
        """Let go of the store. Closing twice is harmless."""
        ...
