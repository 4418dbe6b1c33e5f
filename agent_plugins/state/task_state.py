"""What the agents of a session are doing right now: the steps of one task, and how much time is left for it.

A task is transient: it is shared and survives the death of a process, but it ends with the next task or with the
session, and nothing of it becomes long-term memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from agent_plugins.state.plain_records import arguments_of, kept, mapping, to_plain
from mcp_memory_server import NotFoundError

MOST_STEPS = 100
"""Steps that are kept. Beyond that the oldest that have ended make way, and are counted."""

LONGEST_ERROR = 300


class StepStatus(StrEnum):
    """How far a step is."""

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
        """Whether nothing more is going to happen to it by itself."""
        return self.status in _ENDED

    def starting(self, now: float) -> "Step":
        """Return the step as it begins; one that has begun or ended before is a retry."""
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
        """Return the step as it ended."""
        if duration is None and self.started_at is not None:
            duration = max(now - self.started_at, 0.0)
        short = error if error is None else error[:LONGEST_ERROR]
        return replace(self, status=status, duration=duration, result=kept(result), error=short)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the step that was written down."""
        known = arguments_of(cls, plain)
        known["status"] = StepStatus(plain.get("status", StepStatus.PENDING))
        return cls(**known)


@dataclass(frozen=True)
class Task:
    """What is being done, step by step, within a budget of seconds. ``transient`` says that it is not kept for good."""

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
        """Return how many seconds ago the task began. A clock that was set back does not make it negative."""
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
        """Return the task with this step, and without the oldest ended one if there are too many."""
        steps = {**self.steps, name: step}
        ended = [old for old, each in steps.items() if each.has_ended and old != name]
        gone = ended[: max(len(steps) - MOST_STEPS, 0)]
        for old in gone:
            del steps[old]
        return replace(self, steps=steps, dropped_steps=self.dropped_steps + len(gone))

    def current(self) -> tuple[str, Step] | None:
        """Return the step that runs, or else the next one, None if all have ended."""
        for status in (StepStatus.RUNNING, StepStatus.PENDING):
            for name, step in self.steps.items():
                if step.status is status:
                    return name, step
        return None

    def to_plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        steps = {name: to_plain(step) for name, step in self.steps.items()}
        return {**to_plain(self), "steps": steps, "transient": self.transient}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the task that was written down."""
        known = arguments_of(cls, {name: value for name, value in plain.items() if name != "transient"})
        known["steps"] = {name: Step.from_plain(mapping(step)) for name, step in mapping(plain.get("steps")).items()}
        return cls(**known)
