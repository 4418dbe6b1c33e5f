"""Circuits: their rules and status, and the port through which workers share them."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from agent_plugins.argument_checks import check_type
from agent_plugins.breakers.failures import IsFailure, counts_as_failure
from mcp_memory_server import InvalidRequestError, UnavailableError

THRESHOLD = 5
REST_SECONDS = 30.0
PROBE_SECONDS = 30.0
RATE = 0.5
RESULTS = 20
WINDOW_SECONDS = 300.0


class CircuitState(StrEnum):
    """Whether calls are allowed: all of them, none, or a single probe."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Health(StrEnum):
    """How well a tool works. It is degraded once half of the failures that open its circuit have occurred."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNAVAILABLE = "unavailable"


class CircuitOpenError(UnavailableError):
    """The circuit of the tool is open. It may be called again in ``retry_after`` seconds."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True)
class BreakerRules:
    """When a circuit opens, for how many seconds, and how long a probe may take.

    It opens after ``threshold`` failures in a row, and when the share ``rate`` of the last ``results`` calls failed, if
    none of them is older than ``window`` seconds; None for no such rule. ``is_failure`` decides which errors count:
    others are neither failures nor successes.
    """

    threshold: int = THRESHOLD
    rest: float = REST_SECONDS
    probe_timeout: float = PROBE_SECONDS
    rate: float | None = RATE
    results: int = RESULTS
    window: float = WINDOW_SECONDS
    is_failure: IsFailure = counts_as_failure

    def __post_init__(self) -> None:
        check_type("threshold", self.threshold, int, "a number of failures such as 5")
        check_type("results", self.results, int, "a number of calls such as 20")
        for name in ("rest", "probe_timeout", "window"):
            check_type(name, getattr(self, name), (int, float), "a number of seconds such as 30")
        check_type("rate", self.rate, (int, float, type(None)), "a share such as 0.5, or None")
        if self.threshold < 1 or not self.rest > 0 or not self.probe_timeout > 0:
            raise InvalidRequestError(
                "a breaker needs a threshold of at least 1 and a rest and a probe timeout of more than 0 seconds, "
                f"got {self.threshold}, {self.rest} and {self.probe_timeout}"
            )
        if (self.rate is not None and not 0 < self.rate <= 1) or self.results < 1 or not self.window > 0:
            raise InvalidRequestError(
                "a breaker needs a rate above 0 and up to 1, or None, at least 1 result and a window of more than 0 "
                f"seconds, got {self.rate}, {self.results} and {self.window}"
            )
        if not callable(self.is_failure):
            raise InvalidRequestError(f"is_failure must be a function of a FailedCall, got {self.is_failure!r}")


@dataclass(frozen=True)
class CircuitStatus:
    """The status of a circuit. Times are in seconds; ``failures_in_a_row`` is 0 again after a success.

    ``failure_rate`` is that of the last calls, None while there are too few. ``ignored`` counts errors that did not
    count as failures.
    """

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
    failure_rate: float | None = None
    ignored: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the status as plain data."""
        return {**vars(self), "state": self.state.value, "health": self.health.value}


@dataclass(frozen=True)
class SharedView:
    """The state of a circuit for all workers; a probe may begin in ``remaining`` seconds."""

    state: CircuitState
    remaining: float = 0.0


@dataclass(frozen=True)
class Claim:
    """The answer to a worker that wants to probe: a token if it may, otherwise the view says why not."""

    token: int | None
    view: SharedView


class SharedCircuits(Protocol):
    """Circuits that several workers share: which are open, which are closed, and which worker may probe.

    Only ``claim`` waits for a reply, for a fraction of a second; the other methods return at once and are carried out
    in order. When the shared store cannot be reached, ``claim`` raises UnavailableError and the other methods do
    nothing: then each worker decides for itself.
    """

    def follow(self, name: str, adopt: Callable[[SharedView], None]) -> None:
        """Call ``adopt``, from any thread, with the current state and whenever another worker changes it.

        ``adopt`` is a bound method and is referenced weakly: following does not keep a breaker alive.
        """
        ...

    def claim(self, name: str, lease: float) -> Claim:
        """Ask for the right to probe, for ``lease`` seconds. At most one worker has it at any time."""
        ...

    def opened(self, name: str, rest: float) -> None:
        """Report that too many calls failed."""
        ...

    def probe_succeeded(self, name: str, token: int) -> None:
        """Close the circuit, unless the lease of the token ran out and another worker probes."""
        ...

    def probe_failed(self, name: str, token: int, rest: float) -> None:
        """Open the circuit again, unless the lease of the token ran out and another worker probes."""
        ...

    def probe_abandoned(self, name: str, token: int) -> None:
        """Report that the probe was cancelled: another one may begin at once."""
        ...
