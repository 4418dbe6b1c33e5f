"""Permits: the answer of a breaker to a call that wants to begin, and how the call reports its result."""

import asyncio
import concurrent.futures
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from agent_plugins.breakers.circuit_rules import BreakerRules, CircuitOpenError
from agent_plugins.breakers.failures import FailedCall, is_counted

_NOT_THE_TOOL = (
    asyncio.CancelledError,
    concurrent.futures.CancelledError,
    GeneratorExit,
    KeyboardInterrupt,
    SystemExit,
)


class Breaker(Protocol):
    """Issues permits, and receives the results of their calls."""

    name: str
    rules: BreakerRules

    def finish(self, permit: "Permit", *, failed: bool, timeout: bool) -> None:
        """Count the result of the call of this permit."""
        ...

    def abandon(self, permit: "Permit", *, ignored: bool = False) -> None:
        """Free the slot that the permit holds, after a cancellation or an error that does not count."""
        ...


class Permit:
    """Whether a call may begin. The caller reports its result once; later reports are ignored.

    As a context manager it reports by itself: an exception is a failure if the rules count it, a TimeoutError a
    timeout, and a cancellation neither. Entering a refused permit raises CircuitOpenError.
    """

    __slots__ = ("_breaker", "_unreported", "allowed", "epoch", "is_probe", "reason", "retry_after", "started", "token")

    def __init__(
        self,
        breaker: Breaker,
        epoch: int,
        started: float,
        *,
        is_probe: bool = False,
        token: int | None = None,
        retry_after: float = 0.0,
        reason: str = "",
    ) -> None:
        self._breaker = breaker
        self.epoch = epoch
        self.started = started
        self.is_probe = is_probe
        self.token = token
        self.retry_after = retry_after
        self.reason = reason
        self.allowed = not reason
        # Popping the only element of a list is atomic: of two threads that report, one succeeds.
        self._unreported = [None] if self.allowed else []

    def succeeded(self) -> None:
        """Report that the call succeeded."""
        if self._is_first_report():
            self._breaker.finish(self, failed=False, timeout=False)

    def failed(self, *, timeout: bool = False) -> None:
        """Report that the tool failed, or did not answer in time."""
        if self._is_first_report():
            self._breaker.finish(self, failed=True, timeout=timeout)

    def raised(self, call: FailedCall) -> None:
        """Report an error, and let the rules of the breaker decide whether it counts."""
        if is_counted(self._breaker.rules.is_failure, call):
            self.failed(timeout=isinstance(call.error, TimeoutError))
        elif self._is_first_report():
            self._breaker.abandon(self, ignored=True)

    def abandoned(self) -> None:
        """Report that the call was cancelled: neither a success nor a failure, and another call may probe."""
        if self._is_first_report():
            self._breaker.abandon(self)

    def __enter__(self) -> Self:
        if not self.allowed:
            message = f"{self._breaker.name} is not called: {self.reason}. Try again in {self.retry_after:.1f} s"
            raise CircuitOpenError(message, self.retry_after)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None:
            self.succeeded()
        elif isinstance(error, _NOT_THE_TOOL):
            self.abandoned()
        else:
            self.raised(FailedCall(self._breaker.name, error, str(error)))

    def _is_first_report(self) -> bool:
        try:
            self._unreported.pop()
        except IndexError:
            return False
        return True


@dataclass
class Counts:
    """The counters of a breaker. Timeouts are failures too; a hung probe is one that exceeded its timeout.

    ``ignored`` are errors that the rules do not count.
    """

    calls: int = 0
    failures: int = 0
    timeouts: int = 0
    refused: int = 0
    abandoned: int = 0
    ignored: int = 0
    hung_probes: int = 0
    opened: int = 0
    finished: int = 0
    seconds: float = 0.0

    def count(self, seconds: float, *, failed: bool, timeout: bool) -> None:
        """Count a call that has ended."""
        self.finished += 1
        self.seconds += seconds
        self.failures += failed
        self.timeouts += failed and timeout

    def average_latency(self) -> float | None:
        """Return how many seconds a call took on average, None if none has ended."""
        return self.seconds / self.finished if self.finished else None
