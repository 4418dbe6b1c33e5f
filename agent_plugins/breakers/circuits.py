"""Circuits: what is told about one, and what workers tell each other."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from mcp_memory_server import InvalidRequestError, UnavailableError

THRESHOLD = 5
REST_SECONDS = 30.0
PROBE_SECONDS = 30.0


class CircuitState(StrEnum):
    """Whether calls get through: all of them, none, or one that tries."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Health(StrEnum):
    """How a tool is doing: degraded from half of the failures on that would open its circuit."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNAVAILABLE = "unavailable"


class CircuitOpenError(UnavailableError):
    """The tool is not called now. ``retry_after`` seconds from now it may be."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True)
class BreakerRules:
    """When a circuit opens, for how many seconds it rests, and after how many a probe that hangs frees its slot."""

    threshold: int = THRESHOLD
    rest: float = REST_SECONDS
    probe_timeout: float = PROBE_SECONDS

    def __post_init__(self) -> None:
        if self.threshold < 1 or not self.rest > 0 or not self.probe_timeout > 0:
            raise InvalidRequestError(
                "a breaker needs a threshold of at least 1 and a rest and a probe timeout of more than 0 seconds, "
                f"got {self.threshold}, {self.rest} and {self.probe_timeout}"
            )


@dataclass(frozen=True)
class CircuitStatus:
    """How a circuit stands. Times are in seconds; ``failures_in_a_row`` end with the next success."""

    name: str
    state: CircuitState
    health: Health
    failures_in_a_row: int
    threshold: int
    retry_after: float
    calls: int
    failures: int
    timeouts: int
    refused: int
    abandoned: int
    hung_probes: int
    opened: int
    average_latency: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**vars(self), "state": self.state.value, "health": self.health.value}


@dataclass(frozen=True)
class SharedView:
    """How a circuit stands for all workers; ``remaining`` seconds until it may be tried."""

    state: CircuitState
    remaining: float = 0.0


@dataclass(frozen=True)
class Claim:
    """The answer to a worker that wants to probe: it may, if there is a token; otherwise the view says why not."""

    token: int | None
    view: SharedView


class SharedCircuits(Protocol):
    """Circuits that several workers share. What is shared is what opened, what closed, and whose turn it is to probe.

    Only ``claim`` waits for an answer, for a moment; the others return at once and are carried out in order. When the
    others cannot be reached, ``claim`` raises UnavailableError, and the rest does nothing: then each worker decides
    for itself.
    """

    def follow(self, name: str, adopt: Callable[[SharedView], None]) -> None:
        """Call ``adopt``, from any thread, with how the circuit stands now and whenever another worker changes it.

        It is a method, and held weakly: following does not keep a breaker alive.
        """
        ...

    def claim(self, name: str, lease: float) -> Claim:
        """Ask to be the one that probes, for so many seconds. At most one worker is, at any time."""
        ...

    def opened(self, name: str, rest: float) -> None:
        """Tell that too many calls failed."""
        ...

    def probe_succeeded(self, name: str, token: int) -> None:
        """Tell that the circuit is closed, unless the token's lease ran out and somebody else probes."""
        ...

    def probe_failed(self, name: str, token: int, rest: float) -> None:
        """Tell that the circuit rests again, unless the token's lease ran out and somebody else probes."""
        ...

    def probe_abandoned(self, name: str, token: int) -> None:
        """Tell that the probe came to nothing: another one may begin at once."""
        ...
