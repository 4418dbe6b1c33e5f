"""What a runaway agent does, and from when on it counts as one."""

from dataclasses import dataclass
from enum import StrEnum

from mcp_memory_server import InvalidRequestError

REPEATS = 3
STOP_AFTER = 6
LOOKING_BACK = 30
ROUNDS = 2
LOCK_SECONDS = 60.0


class LoopKind(StrEnum):
    """What can go wrong without anything failing."""

    REPEATED_CALL = "repeated_call"
    HANDOFF_CIRCLE = "handoff_circle"
    OVER_BUDGET = "over_budget"
    LOCK_NOT_RELEASED = "lock_not_released"
    DEADLOCK = "deadlock"


@dataclass(frozen=True)
class Finding:
    """What was noticed. The message is one for the model; ``stop`` says that going on as before is pointless."""

    kind: LoopKind
    message: str
    times: int
    stop: bool = False


@dataclass(frozen=True)
class GuardRules:
    """From how many equal calls on the model is told, and from how many on they are not made any more.

    A circle of hand-offs is told when it was gone through ``rounds`` times. A lock that is held for longer than
    ``lock_seconds`` counts as never released.
    """

    repeats: int = REPEATS
    stop_after: int = STOP_AFTER
    looking_back: int = LOOKING_BACK
    rounds: int = ROUNDS
    lock_seconds: float = LOCK_SECONDS

    def __post_init__(self) -> None:
        if not 2 <= self.repeats <= self.stop_after <= self.looking_back or self.rounds < 2 or self.lock_seconds <= 0:
            raise InvalidRequestError(
                "guards need 2 ≤ repeats ≤ stop_after ≤ looking_back, rounds of at least 2 and more than 0 lock seconds"
            )
