"""The task layer of the shared state: the steps of the current task, and its time budget.

A task is transient: it is shared and survives a crash of the process, but it ends with the next task or with the
session, and nothing of it becomes long-term memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from agent_plugins.state.plain_records import arguments_for, as_mapping, plain_value, to_plain
from mcp_memory_server import NotFoundError

MOST_STEPS = 100
"""Beyond that, the oldest ended steps are dropped and counted."""

LONGEST_ERROR = 300


class StepStatus(StrEnum):
    """The status of a step."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    TIMED_OUT = "timed_out"


_ENDED = (StepStatus.DONE, StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.TIMED_OUT)


@dataclass(frozen=True)
class Step:
    """One step of a task. Times are Unix seconds; the duration and the timeout are in seconds.

    A step that runs for longer than its timeout has timed out, also when the process that ran it is gone. ``call`` is
    the id under which a framework knows the call of the tool.
    """

    tool: str | None = None
    parameters: Any = None
    status: StepStatus = StepStatus.PENDING
    agent: str | None = None
    result: Any = None
    error: str | None = None
    started_at: float | None = None
    duration: float | None = None
    retries: int = 0
    timeout: float | None = None
    call: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def has_ended(self) -> bool:
        """Whether the step is done, failed, skipped or timed out."""
        return self.status in _ENDED

    def is_overdue(self, now: float) -> bool:
        """Return whether the step is still running after its timeout."""
        is_running = self.status is StepStatus.RUNNING and self.started_at is not None
        return is_running and self.timeout is not None and now - (self.started_at or 0.0) > self.timeout

    def starting(self, now: float) -> "Step":
        """Return the step as running; one that was not pending counts as a retry."""
        again = self.status is not StepStatus.PENDING
        return replace(
            self,
            status=StepStatus.RUNNING,
            started_at=now,
            retries=self.retries + again,
            result=None,
            error=None,
            duration=None,
        )

    def ending(self, status: StepStatus, now: float, duration: float | None, result: Any, error: str | None) -> "Step":
        """Return the step as ended."""
        if duration is None and self.started_at is not None:
            duration = max(now - self.started_at, 0.0)
        short = error if error is None else error[:LONGEST_ERROR]
        return replace(self, status=status, duration=duration, result=plain_value(result), error=short)

    def lateness(self) -> str:
        """Return in words that the step did not end in time."""
        return f"{self.tool or 'it'} did not answer within {self.timeout:g} s"

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the step from plain data."""
        known = arguments_for(cls, plain)
        known["status"] = StepStatus(plain.get("status", StepStatus.PENDING))
        return cls(**known)


@dataclass(frozen=True)
class Task:
    """A task with its steps and its budget in seconds. ``transient`` says that it is not stored permanently."""

    id: str
    goal: str
    started_at: float
    budget: float | None = None
    steps: Mapping[str, Step] = field(default_factory=dict[str, Step])
    dropped_steps: int = 0
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def transient(self) -> bool:
        """Always true: a task ends with the session at the latest."""
        return True

    def elapsed(self, now: float) -> float:
        """Return how many seconds ago the task began; never negative, even if the clock was set back."""
        return max(now - self.started_at, 0.0)

    def step(self, name: str) -> Step:
        """Return a step.

        Raises:
            NotFoundError: The task has no such step.
        """
        if name not in self.steps:
            raise NotFoundError(f"the task has no step {name!r}; begin it first")
        return self.steps[name]

    def with_step(self, name: str, step: Step) -> "Task":
        """Return the task with this step, without the oldest ended ones if there are too many."""
        steps = {**self.steps, name: step}
        ended = [old for old, each in steps.items() if each.has_ended and old != name]
        gone = ended[: max(len(steps) - MOST_STEPS, 0)]
        for old in gone:
            del steps[old]
        return replace(self, steps=steps, dropped_steps=self.dropped_steps + len(gone))

    def with_timeouts(self, now: float) -> "Task":
        """Return the task with overdue steps timed out."""
        overdue = {name: step for name, step in self.steps.items() if step.is_overdue(now)}
        if not overdue:
            return self
        ended = {
            name: step.ending(StepStatus.TIMED_OUT, now, None, None, step.lateness()) for name, step in overdue.items()
        }
        return replace(self, steps={**self.steps, **ended})

    def step_of(self, call: str) -> str:
        """Return the name of the step of a call.

        Raises:
            NotFoundError: The task has no such step.
        """
        found = next((name for name, step in self.steps.items() if step.call == call), None)
        if found is None:
            raise NotFoundError(f"the task has no step for the call {call!r}; begin it first")
        return found

    def free_name(self, tool: str) -> str:
        """Return a name for the next step of a tool: its own name, later ones with a number."""
        if tool not in self.steps:
            return tool
        number = 2
        while f"{tool} {number}" in self.steps:
            number += 1
        return f"{tool} {number}"

    def current(self) -> tuple[str, Step] | None:
        """Return the running step, else the next pending one; None if all have ended."""
        for status in (StepStatus.RUNNING, StepStatus.PENDING):
            for name, step in self.steps.items():
                if step.status is status:
                    return name, step
        return None

    def to_plain(self) -> dict[str, Any]:
        """Return the task as plain data."""
        steps = {name: to_plain(step) for name, step in self.steps.items()}
        return {**to_plain(self), "steps": steps, "transient": self.transient}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the task from plain data."""
        known = arguments_for(cls, {name: value for name, value in plain.items() if name != "transient"})
        known["steps"] = {
            name: Step.from_plain(as_mapping(step)) for name, step in as_mapping(plain.get("steps")).items()
        }
        return cls(**known)
