"""What agents do to the state that they share. Each of these returns a change, for `StateCoordinator.change`.

Several changes given together are one write: all of them happen, or none.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from agent_plugins.state.conversation_state import Clarification, Conversation, Phase, Slot, SlotState
from agent_plugins.state.plain_records import kept
from agent_plugins.state.session_state import Change, SessionState
from agent_plugins.state.task_state import Step, StepStatus, Task
from mcp_memory_server import NotFoundError


def enter_phase(phase: Phase) -> Change:
    """Move the conversation on; the change fails where the table of phases does not allow it."""
    return _conversation(lambda talk: talk.entering(phase))


def understand(intent: str | None) -> Change:
    """Note what the user wants."""
    return _conversation(lambda talk: replace(talk, intent=intent))


def hand_over(agent: str | None) -> Change:
    """Note which agent is in charge."""
    return _conversation(lambda talk: replace(talk, active_agent=agent))


def take_turn() -> Change:
    """Count a turn of the conversation."""
    return _conversation(lambda talk: replace(talk, turn_count=talk.turn_count + 1))


def need_slots(*names: str) -> Change:
    """Note that these must be known before the task can be done. What is filled already stays as it is."""

    def need(talk: Conversation) -> Conversation:
        for name in names:
            talk = talk.with_slot(name, replace(talk.slots.get(name, Slot()), required=True))
        return talk

    return _conversation(need)


def fill_slot(
    name: str, value: Any, *, confirmed: bool = False, agent: str | None = None, problem: str | None = None
) -> Change:
    """Put a value into a slot, and a sentence beside it if it is not valid. It answers a question that asked for it.

    What is only inferred never replaces a valid value that was confirmed.
    """
    state = SlotState.CONFIRMED if confirmed else SlotState.INFERRED
    return _conversation(lambda talk: talk.filling(name, value, state, agent, problem))


def confirm_slot(name: str) -> Change:
    """Note that the user confirmed the value of a slot."""

    def confirm(talk: Conversation) -> Conversation:
        slot = talk.slots.get(name)
        if slot is None or slot.state is SlotState.EMPTY:
            raise NotFoundError(f"the slot {name!r} is empty; fill it first")
        return talk.with_slot(name, replace(slot, state=SlotState.CONFIRMED))

    return _conversation(confirm)


def clear_slot(name: str) -> Change:
    """Take a value out of a slot; a slot that is not required goes altogether."""

    def clear(talk: Conversation) -> Conversation:
        slots = {other: slot for other, slot in talk.slots.items() if other != name}
        if name in talk.slots and talk.slots[name].required:
            slots[name] = Slot(required=True)
        return replace(talk, slots=slots)

    return _conversation(clear)


def ask_user(question: str, *, slot: str | None = None, agent: str | None = None) -> Change:
    """Note a question that waits for the user's answer. A new one takes the place of the old one."""
    return _conversation(lambda talk: replace(talk, clarification=Clarification(question, slot, agent)))


def user_answered() -> Change:
    """Note that nothing waits for the user's answer any more."""
    return _conversation(lambda talk: replace(talk, clarification=None))


def begin_task(
    goal: str, *, budget: float | None = None, task_id: str | None = None, now: float | None = None
) -> Change:
    """Begin a task within so many seconds; it takes the place of the one before."""
    task = Task(task_id or uuid4().hex[:12], goal, time.time() if now is None else now, budget)
    return lambda state: replace(state, task=task)


def end_task() -> Change:
    """Forget the task."""
    return lambda state: replace(state, task=None)


def plan_step(name: str, tool: str | None = None, parameters: Any = None, *, agent: str | None = None) -> Change:
    """Add a step that is still to be done. A step of that name that is there already stays as it is."""
    step = Step(tool, kept(parameters), agent=agent)
    return _task(lambda task: task if name in task.steps else task.with_step(name, step))


def start_step(
    name: str, tool: str | None = None, parameters: Any = None, *, agent: str | None = None, now: float | None = None
) -> Change:
    """Note that a step begins. A step that has begun before is a retry of it."""
    moment = time.time() if now is None else now
    given: Mapping[str, Any] = {"tool": tool, "parameters": kept(parameters), "agent": agent}
    said = {key: value for key, value in given.items() if value is not None}
    return _task(lambda task: task.with_step(name, replace(task.steps.get(name, Step()), **said).starting(moment)))


def finish_step(name: str, result: Any = None, *, duration: float | None = None, now: float | None = None) -> Change:
    """Note that a step is done. A duration that was measured is better than the difference of two clocks."""
    return _ending(name, StepStatus.DONE, duration, now, result=result)


def fail_step(name: str, error: str, *, duration: float | None = None, now: float | None = None) -> Change:
    """Note that a step failed, in a few words."""
    return _ending(name, StepStatus.FAILED, duration, now, error=error)


def skip_step(name: str) -> Change:
    """Note that a step is not going to be done."""
    return _ending(name, StepStatus.SKIPPED, None, None)


def _ending(
    name: str,
    status: StepStatus,
    duration: float | None,
    now: float | None,
    *,
    result: Any = None,
    error: str | None = None,
) -> Change:
    moment = time.time() if now is None else now
    return _task(
        lambda task: task.with_step(name, task.step(name).ending(status, moment, duration, result, error)),
    )


def _conversation(change: Callable[[Conversation], Conversation]) -> Change:
    return lambda state: replace(state, conversation=change(state.conversation))


def _task(change: Callable[[Task], Task]) -> Change:
    def changed(state: SessionState) -> SessionState:
        if state.task is None:
            raise NotFoundError("no task is under way; begin one first")
        return replace(state, task=change(state.task))

    return changed
