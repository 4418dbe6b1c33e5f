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


_ENDED = (StepStatus.DONE, StepStatus.FAILED, StepStatus.SKIPPED)


@dataclass(frozen=True)
class Step:
    """One step of a task. Times are Unix seconds, the duration is in seconds."""

    tool: str | None = None
    parameters: Any = None
    status: StepStatus = StepStatus.PENDING
    agent: str | None = None
    result: Any = None
    error: str | None = None
    started_at: float | None = None
    duration: float | None = None
    retries: int = 0
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def has_ended(self) -> bool:
        """Whether the step is done, failed or skipped."""
        return self.status in _ENDED

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
