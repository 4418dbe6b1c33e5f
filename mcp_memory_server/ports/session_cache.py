"""The cache of running sessions. The table holds the truth."""

from collections.abc import Sequence
from typing import Protocol

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import (
    Appended,
    CacheContext,
    CachedSession,
    CacheMiss,
    StoredIds,
)
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite


class SessionCache(Protocol):
    """The last turns of running sessions, within their limits, for as long as their tier and depth allow.

    Every scope names a session. Any method may raise CacheUnavailableError, when the store does not answer within its
    deadline: it may or may not have done what was asked. A method never blocks the event loop, and may be awaited from
    any event loop.

    Invariants of filling the cache:

    1. A cached session is whole when it holds every turn that the table holds, except evicted ones. Only a whole one is
       returned by `load`.
    2. A turn is appended here first and written to the table afterwards. A session that was lost here may therefore
       miss turns in the table that are still being written.
    3. A session is filled only with a token that was issued after the loss, and only once the session has settled: by
       then every turn that was being written has reached the table. The store knows how long that takes.
    4. Turns appended after the token was issued are recorded, and join the session when it is filled.
    5. A writer that takes longer than that to reach the table calls `record_stored` afterwards.
    6. A turn is counted by a cached session once, however many turns were added since: the token of the session names
       it from its beginning to its loss, and the turn carries it through the outbox (`QueuedTurn.counted_in`).
    7. A cached session is used only in the epoch in which it was begun: in a later epoch it is discarded. A caller
       with an older epoch than the cached session gets a miss that must not be filled.

        absent --load: token--> recording --settled, fill(token)--> whole --lost, dropped, later epoch--> absent
                                  ^  append(after), record_stored       ^  append, record_stored
    """

    async def append(
        self, write: TurnWrite, context: CacheContext, *, after: str | None = None, enqueue: bool = False
    ) -> Appended | None:
        """Append a turn in one atomic round trip: trim, raise the counters, move the deadline.

        The turn's id is a proposal: it is raised where it would not sort after the last one, and the reply names the
        final id. An operation id that was appended before is a repeat: nothing changes, and the reply is that of the
        first time.

        Without a whole session the last id is unknown here: nothing is appended and None is returned, unless ``after``
        names the newest id in the table ("" if it holds none). Then the turn is recorded. With ``enqueue`` it is also
        put into the outbox of this store, in the same step.
        """
        ...

    async def load(self, scope: Scope, *, epoch: int) -> CachedSession | CacheMiss:
        """Return the whole session in one round trip, oldest turn first; otherwise what is needed to fill it."""
        ...

    async def fill(
        self,
        scope: Scope,
        session: CachedSession,
        context: CacheContext,
        *,
        token: str,
        stored: StoredIds | None = None,
    ) -> bool:
        """Make the session whole from what the table holds, and return whether it is whole now.

        Turns recorded since the token was issued that are not among these join them, are counted, and are trimmed with
        them. A session that was lost or dropped since, or has not settled, is not filled: nothing changes. If it is
        whole already, nothing changes either. ``stored`` names what the table holds before these turns; where a
        recorded turn is older than what it covers, or turns from before the loss are queued in the outbox of this
        store, the session is not filled, because its count could be wrong.
        """
        ...

    async def record_stored(self, write: TurnWrite, context: CacheContext, *, counted_in: str = "") -> None:
        """Insert a turn that the table holds in its place among the cached turns, if it was not appended here.

        Its id stays as it is. An absent session stays absent; one that is being filled records the turn. A session of
        an earlier epoch, or one that knows the operation under another id, is discarded and begun again with this turn
        recorded; so is one whose gap is later than the turn, which may have been counted and evicted. ``counted_in`` is
        the token that `append` returned: the cached session that has it counted the turn, and is not changed.
        """
        ...

    async def drop(self, scope: Scope) -> None:
        """Discard the session and its deadline. Dropping an absent one is a no-op."""
        ...

    async def sessions_of(self, user_id: str) -> Sequence[Scope]:
        """Return the sessions of a user that are cached. It looks at every key, and is for erasing a user."""
        ...

    async def set_summary(self, scope: Scope, summary: str) -> None:
        """Replace the rolling summary of a whole session. Otherwise a no-op."""
        ...

    async def ping(self) -> str:
        """Return which server answers: the same text as long as it is this one, without a restart or a promotion."""
        ...

    async def close(self) -> None:
        """Close the store. Closing twice is harmless."""
        ...
