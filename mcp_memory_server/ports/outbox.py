"""The outbox: turns that were acknowledged before the table had them.

Invariants:

1. A queued turn is removed only after the table, or the dead letter queue, has it.
2. A session is leased to at most one owner at a time; the turns of a session are claimed in the order of adding.
3. An owner that stops renewing its lease loses it: another owner may then deliver the same turn again. Writing a turn
   twice is harmless, because the table recognises the operation.
4. A turn that was put off holds up the later turns of its session.

    queued --claim--> leased --remove--> delivered
       ^                |  put_off: attempts + 1, pause
       +--lease over,---+--> resting --pause over--> queued
          release
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.queued_turns import ClaimedTurn, QueuedTurn, QueueLength


class Outbox(Protocol):
    """A durable queue, shared by every process that opens the same one. Turns of one session leave it in order.

    Any method may raise UnavailableError: the outbox did not answer in time, is full or damaged. A method never blocks
    the event loop, and may be awaited from any event loop.
    """

    async def add(self, queued: QueuedTurn) -> None:
        """Queue a turn. It is durable when this returns. The same operation id of a session again changes nothing.

        An outbox in the store of the session cache drops a cached session that neither counted the turn nor has it.
        """
        ...

    async def waiting(self, scope: Scope) -> Sequence[QueuedTurn]:
        """Return what waits of a session, claimed or not, in the order of adding."""
        ...

    async def claim(self, owner: str, *, lease: timedelta, most: int) -> Sequence[ClaimedTurn]:
        """Return turns that this owner is to write now, the oldest first, those of a session in order.

        Nobody else gets a turn of the same session before the lease is over; whoever claims again gets what it still
        holds, with the lease renewed. A turn that was put off is not given out before its time, and neither is a later
        one of its session.
        """
        ...

    async def remove(self, owner: str, receipts: Sequence[str]) -> None:
        """Take these out of the queue: the table has them, or they are dead letters. Removing twice is harmless."""
        ...

    async def put_off(self, owner: str, receipt: str, pause: timedelta) -> None:
        """Count an attempt that failed, and give the turn out again only after the pause."""
        ...

    async def release(self, owner: str) -> None:
        """Let go of everything that the owner claimed, so that others need not wait for its lease to end."""
        ...

    async def erase(self, user_id: str) -> int:
        """Remove everything of a user, claimed or not, and return how many turns that were."""
        ...

    async def length(self) -> QueueLength:
        """Return how much waits."""
        ...

    async def close(self) -> None:
        """Let go of the store. Closing twice is harmless."""
        ...
