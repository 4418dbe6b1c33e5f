"""Findings of the guards, and the rules that decide when something is one."""

from dataclasses import dataclass
from enum import StrEnum

from agent_plugins.argument_checks import check_type
from mcp_memory_server import InvalidRequestError

REPEATS = 3
STOP_AFTER = 6
WINDOW = 30
ROUNDS = 2
LOCK_SECONDS = 60.0


class LoopKind(StrEnum):
    """What can go wrong although no call fails."""

    REPEATED_CALL = "repeated_call"
    HANDOFF_CIRCLE = "handoff_circle"
    OVER_BUDGET = "over_budget"
    LOCK_NOT_RELEASED = "lock_not_released"
    DEADLOCK = "deadlock"


@dataclass(frozen=True)
class Finding:
    """A problem that was noticed. ``message`` is for the model; ``stop`` means that the call must not be made."""

    kind: LoopKind
    message: str
    times: int
    stop: bool = False


@dataclass(frozen=True)
class GuardRules:
    """When the guards report something.

    ``repeats`` equal calls among the last ``window`` calls are reported, and refused from ``stop_after`` on. A cycle
    of hand-offs is reported after ``rounds`` rounds, a lock after it was held for ``lock_seconds``.
    """

    repeats: int = REPEATS
    stop_after: int = STOP_AFTER
    window: int = WINDOW
    rounds: int = ROUNDS
    lock_seconds: float = LOCK_SECONDS

    def __post_init__(self) -> None:
        for name in ("repeats", "stop_after", "window", "rounds"):
            check_type(name, getattr(self, name), int, "a number of calls such as 3")
        check_type("lock_seconds", self.lock_seconds, (int, float), "a number of seconds such as 60")
        if not 2 <= self.repeats <= self.stop_after <= self.window or self.rounds < 2 or self.lock_seconds <= 0:
            raise InvalidRequestError(
                "guards need 2 ≤ repeats ≤ stop_after ≤ window, rounds of at least 2 and more than 0 lock seconds"
            )
