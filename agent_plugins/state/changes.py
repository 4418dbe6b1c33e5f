"""Changes of the shared state. Each function returns one, for `StateCoordinator.change`.

Changes that are passed together are one write: all of them happen, or none.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from agent_plugins.argument_checks import check_type
from agent_plugins.state.conversation_state import Clarification, Conversation, Handoff, Slot, SlotState
from agent_plugins.state.phases import Phase, phase_of_intent
from agent_plugins.state.plain_records import plain_value
from agent_plugins.state.session_state import Change, SessionState
from agent_plugins.state.task_state import Step, StepStatus, Task
from mcp_memory_server import InvalidRequestError, NotFoundError

MOST_VALUES = 50


def enter_phase(phase: Phase | str) -> Change:
    """Enter a phase of the conversation on purpose; the change fails if `NEXT_PHASES` does not allow it.

    Phases also move by themselves: see `Phase`.
    """
    try:
        entered = Phase(phase)
    except ValueError:
        raise InvalidRequestError(f"phase must be one of {', '.join(Phase)}, got {phase!r}") from None
    return _conversation(lambda conversation: conversation.entering(entered))


def understand(intent: str | None) -> Change:
    """Set what the user wants. The intent ``farewell`` or ``goodbye`` ends the conversation."""

    def understood(conversation: Conversation) -> Conversation:
        known = replace(conversation, intent=intent)
        return replace(known, phase=phase_of_intent(known))

    return _conversation(understood)


def hand_over(agent: str | None) -> Change:
    """Set which agent is in charge."""
    return _conversation(lambda conversation: replace(conversation, active_agent=agent))


def take_turn() -> Change:
    """Count a turn of the conversation."""
    return _conversation(lambda conversation: replace(conversation, turn_count=conversation.turn_count + 1))


def need_slots(*names: str) -> Change:
    """Require these slots for the task. Slots that are filled already stay as they are."""
    for name in names:
        _check_name("slot", name)

    def need(conversation: Conversation) -> Conversation:
        for name in names:
            conversation = conversation.with_slot(name, replace(conversation.slots.get(name, Slot()), required=True))
        return conversation

    return _conversation(need)


def need_slot(name: str, *, question: str | None = None, values: Sequence[Any] = ()) -> Change:
    """Require a slot, with the question that asks for it, and the values that it may have if there are only some.

    A value that the slot has already stays, and is checked.
    """
    _check_name("slot", name)
    check_type("values", values, (list, tuple), "a list such as ['S', 'M']")
    if len(values) > MOST_VALUES:
        raise InvalidRequestError(f"a slot may have one of {MOST_VALUES} values at most, got {len(values)}; pass none")
    allowed = tuple(plain_value(value) for value in values)

    def need(conversation: Conversation) -> Conversation:
        old = conversation.slots.get(name, Slot())
        slot = replace(old, required=True, question=question or old.question, values=allowed or old.values)
        if slot.state is not SlotState.EMPTY:
            slot = slot.holding(slot.value, slot.state, slot.filled_by, None if allowed else slot.problem)
        return conversation.with_slot(name, slot)

    return _conversation(need)


def fill_slot(
    name: str, value: Any, *, confirmed: bool = False, agent: str | None = None, problem: str | None = None
) -> Change:
    """Put a value into a slot; ``problem`` says why it is not valid. A pending question about the slot is answered.

    An inferred value never replaces a valid confirmed one, and a required slot is missing until the user has said or
    confirmed its value: ``confirmed=True``, or `confirm_slot`.
    """
    _check_name("slot", name)
    state = SlotState.CONFIRMED if confirmed else SlotState.INFERRED
    return _conversation(lambda conversation: conversation.filling(name, value, state, agent, problem))


def confirm_slot(name: str) -> Change:
    """Set the value of a slot to confirmed by the user."""

    def confirm(conversation: Conversation) -> Conversation:
        slot = conversation.slots.get(name)
        if slot is None or slot.state is SlotState.EMPTY:
            raise NotFoundError(f"the slot {name!r} is empty; fill it first")
        return conversation.with_slot(name, replace(slot, state=SlotState.CONFIRMED))

    return _conversation(confirm)


def clear_slot(name: str) -> Change:
    """Empty a slot; one that is not required is removed."""

    def clear(conversation: Conversation) -> Conversation:
        slots = {other: slot for other, slot in conversation.slots.items() if other != name}
        old = conversation.slots.get(name)
        if old is not None and old.required:
            slots[name] = Slot(required=True, question=old.question, values=old.values)
        return replace(conversation, slots=slots)

    return _conversation(clear)


def ask_user(question: str, *, slot: str | None = None, agent: str | None = None) -> Change:
    """Set the question that waits for the user's answer, in place of an earlier one."""
    return _conversation(lambda conversation: replace(conversation, clarification=Clarification(question, slot, agent)))


def ask_for_missing_slot(*, agent: str | None = None) -> Change:
    """Set the question for the first missing slot that has one, unless a question waits already."""

    def ask(conversation: Conversation) -> Conversation:
        question = conversation.next_question()
        if question is None or question is conversation.clarification:
            return conversation
        return replace(conversation, clarification=replace(question, asked_by=agent))

    return _conversation(ask)


def user_answered() -> Change:
    """Remove the question that waited for the user's answer."""
    return _conversation(lambda conversation: replace(conversation, clarification=None))


def escalate(reason: str, *, to: str | None = None, agent: str | None = None, now: float | None = None) -> Change:
    """Give the conversation to a person, or to a named queue of people.

    It stays in the phase `Phase.HANDOFF` until `return_to_agents`. `StateCoordinator.escalate` also returns the packet.
    """
    check_type("reason", reason, str, "a text that says why a person is needed")
    handoff = Handoff(reason, to, agent, time.time() if now is None else now)
    return _conversation(lambda conversation: replace(conversation.entering(Phase.HANDOFF), handoff=handoff))


def return_to_agents(agent: str | None = None) -> Change:
    """Take a conversation back from a person, and set which agent is in charge."""

    def take_back(conversation: Conversation) -> Conversation:
        if conversation.phase is not Phase.HANDOFF:
            raise InvalidRequestError(f"no person has this conversation: its phase is {conversation.phase.value}")
        phase = Phase.SLOT_FILLING if conversation.open_slots() else Phase.INTENT_DETECTION
        return replace(conversation.entering(phase), active_agent=agent)

    return _conversation(take_back)


def begin_task(
    goal: str, *, budget: float | None = None, task_id: str | None = None, now: float | None = None
) -> Change:
    """Begin a task, in place of an earlier one, with a budget in seconds."""
    check_type("goal", goal, str, "a text such as 'order a book'")
    check_type("budget", budget, (int, float, type(None)), "a number of seconds or None")
    task = Task(task_id or uuid4().hex[:12], goal, time.time() if now is None else now, budget)
    return lambda state: replace(state, task=task)


def end_task() -> Change:
    """Remove the task."""
    return lambda state: replace(state, task=None)


def plan_step(name: str, tool: str | None = None, parameters: Any = None, *, agent: str | None = None) -> Change:
    """Add a pending step. An existing step with that name stays as it is."""
    _check_name("step", name)
    step = Step(tool, plain_value(parameters), agent=agent)
    return _task(lambda task: task if name in task.steps else task.with_step(name, step))


def start_step(
    name: str,
    tool: str | None = None,
    parameters: Any = None,
    *,
    agent: str | None = None,
    timeout: float | None = None,
    now: float | None = None,
) -> Change:
    """Begin a step, which times out after ``timeout`` seconds. Beginning it again counts as a retry."""
    _check_name("step", name)
    check_type("timeout", timeout, (int, float, type(None)), "a number of seconds or None")
    moment = time.time() if now is None else now
    given: Mapping[str, Any] = {
        "tool": tool,
        "parameters": plain_value(parameters),
        "agent": agent,
        "timeout": timeout,
    }
    said = {key: value for key, value in given.items() if value is not None}
    return _task(lambda task: task.with_step(name, replace(task.steps.get(name, Step()), **said).starting(moment)))


def start_call(
    call: str,
    tool: str,
    parameters: Any = None,
    *,
    agent: str | None = None,
    timeout: float | None = None,
    now: float | None = None,
) -> Change:
    """Begin a step for a call of a tool. It is named after the tool; ``end_call`` finds it by the id of the call."""
    moment = time.time() if now is None else now
    step = Step(tool, plain_value(parameters), agent=agent, timeout=timeout, call=call).starting(moment)
    return _task(lambda task: task.with_step(task.free_name(tool), step))


def end_call(
    call: str,
    status: StepStatus,
    *,
    result: Any = None,
    error: str | None = None,
    duration: float | None = None,
    now: float | None = None,
) -> Change:
    """End the step of a call."""
    moment = time.time() if now is None else now

    def ended(task: Task) -> Task:
        name = task.step_of(call)
        return task.with_step(name, task.step(name).ending(status, moment, duration, result, error))

    return _task(ended)


def time_out_steps(now: float | None = None) -> Change:
    """Set running steps to timed out whose timeout is over. The coordinator does so with each change."""

    def timed_out(state: SessionState) -> SessionState:
        task = None if state.task is None else state.task.with_timeouts(time.time() if now is None else now)
        return state if task is state.task else replace(state, task=task)

    return timed_out


def finish_step(name: str, result: Any = None, *, duration: float | None = None, now: float | None = None) -> Change:
    """Set a step to done. Without a measured ``duration`` it is the difference of two wall-clock times."""
    return _ending(name, StepStatus.DONE, duration, now, result=result)


def fail_step(name: str, error: str, *, duration: float | None = None, now: float | None = None) -> Change:
    """Set a step to failed, with a short reason."""
    return _ending(name, StepStatus.FAILED, duration, now, error=error)


def skip_step(name: str) -> Change:
    """Set a step to skipped."""
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


def _check_name(kind: str, name: object) -> None:
    check_type(f"the name of a {kind}", name, str, "a text such as 'title'")
