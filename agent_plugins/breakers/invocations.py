"""Invocations: the running calls of tools, and the results of the last ones."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock
from typing import Any
from uuid import uuid4

from agent_plugins.breakers.failures import FailedCall
from agent_plugins.breakers.permits import Permit
from agent_plugins.telemetry import count_call

MAX_ENDED = 100
"""How many ended calls can still be looked up."""


class Outcome(StrEnum):
    """The result of a call."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    ABANDONED = "abandoned"


@dataclass
class Invocation:
    """One call of a tool. The caller reports its result once; later reports are ignored."""

    id: str
    tool: str
    timeout: float | None
    started: float
    permit: Permit = field(repr=False)
    on_end: "Callable[[Invocation], None]" = field(repr=False)
    agent: str | None = None
    owner: str | None = None
    outcome: Outcome = Outcome.RUNNING
    result: Any = field(default=None, repr=False)
    error: str | None = None
    seconds: float | None = None

    @property
    def is_probe(self) -> bool:
        """Whether this call probes a tool whose circuit was open."""
        return self.permit.is_probe

    def succeeded(self, result: Any = None) -> None:
        """Report that the tool answered."""
        self._end(Outcome.SUCCEEDED, result=result)

    def failed(self, error: str, result: Any = None) -> None:
        """Report that the tool failed, in a few words that contain no secret. This always counts as a failure."""
        self._end(Outcome.FAILED, error=error, result=result)

    def raised(self, error: BaseException | None, text: str = "") -> None:
        """Report an error, or an answer that is one. The rules of the tool decide whether it counts as a failure."""
        words = "the tool answered with an error" if error is None else type(error).__name__
        self._end(Outcome.FAILED, error=words, call=FailedCall(self.tool, error, text, self.owner))

    def timed_out(self) -> None:
        """Report that the tool did not answer in time."""
        words = "it did not answer in time"
        self._end(Outcome.TIMED_OUT, error=words, call=FailedCall(self.tool, TimeoutError(words), words, self.owner))

    def abandoned(self) -> None:
        """Report that the call was cancelled, which says nothing about the tool."""
        self._end(Outcome.ABANDONED)

    def _end(
        self, outcome: Outcome, *, error: str | None = None, result: Any = None, call: FailedCall | None = None
    ) -> None:
        if self.outcome is not Outcome.RUNNING:
            return
        self.outcome, self.error, self.result = outcome, error, result
        match outcome:
            case Outcome.SUCCEEDED:
                self.permit.succeeded()
            case Outcome.ABANDONED:
                self.permit.abandoned()
            case _ if call is not None:
                self.permit.raised(call)
            case _:
                self.permit.failed()
        self.on_end(self)


class Invocations:
    """The running calls, and the last ones that ended. Safe to use from any thread."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = Lock()
        self._running: dict[str, Invocation] = {}
        self._ended: deque[Invocation] = deque(maxlen=MAX_ENDED)

    def begin(
        self, tool: str, permit: Permit, timeout: float | None, agent: str | None, owner: str | None = None
    ) -> Invocation:
        """Register a call and return it."""
        begun = Invocation(uuid4().hex[:12], tool, timeout, self._monotonic(), permit, self._on_end, agent, owner)
        with self._lock:
            self._running[begun.id] = begun
        return begun

    def get(self, invocation_id: str) -> Invocation | None:
        """Return a running call, or one of the last that ended; None if it is neither."""
        with self._lock:
            ended = {one.id: one for one in self._ended}
            return self._running.get(invocation_id) or ended.get(invocation_id)

    def running(self) -> list[Invocation]:
        """Return the running calls, the oldest first."""
        with self._lock:
            return list(self._running.values())

    def describe_running(self) -> list[dict[str, Any]]:
        """Return the running calls as plain data, without the answers of tools, which belong to a user."""
        now = self._monotonic()
        return [
            {
                "id": one.id,
                "tool": one.tool,
                "agent": one.agent,
                "owner": one.owner,
                "seconds": round(now - one.started, 3),
                "timeout": one.timeout,
                "overdue": one.timeout is not None and now - one.started > one.timeout,
                "probe": one.is_probe,
            }
            for one in self.running()
        ]

    def _on_end(self, invocation: Invocation) -> None:
        invocation.seconds = self._monotonic() - invocation.started
        count_call(invocation.tool, invocation.owner, invocation.outcome.value)
        with self._lock:
            self._running.pop(invocation.id, None)
            self._ended.append(invocation)
