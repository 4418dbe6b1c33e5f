"""Turns in the outbox, which were acknowledged before the table had them, and dead letters."""

from dataclasses import dataclass
from datetime import datetime

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import Turn


@dataclass(frozen=True)
class QueuedTurn:
    """A turn in the outbox, under the id that it will have in the table.

    ``counted_in`` is the token of the cached session that counted it, "" if that is not known.
    """

    scope: Scope
    turn: Turn
    operation_id: str
    queued_at: datetime
    counted_in: str = ""

    @property
    def write(self) -> TurnWrite:
        """The turn as it is to be written to the table."""
        return TurnWrite(self.scope, self.turn, self.operation_id)


@dataclass(frozen=True)
class ClaimedTurn:
    """A queued turn that its claimant is to write. ``receipt`` is its name there; ``attempts`` were made before."""

    queued: QueuedTurn
    receipt: str
    attempts: int


@dataclass(frozen=True)
class QueueLength:
    """How many turns wait, and since when the one that waits longest."""

    turns: int
    oldest: datetime | None = None


@dataclass(frozen=True)
class DeadLetter:
    """A turn that the table did not take, and why: the name of the error and what it says, without the turn's text."""

    queued: QueuedTurn
    reason: str
    died_at: datetime


@dataclass(frozen=True)
class HeldLetter:
    """A dead letter in somebody's hands. ``receipt`` names it to the store, until it is removed or let go."""

    letter: DeadLetter
    receipt: str
