"""The packet for whoever takes over a conversation: a person's desk, a ticket system, or another team of agents."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Self

from agent_plugins.quoting import quoted
from agent_plugins.state.conversation_state import Handoff, SlotState
from agent_plugins.state.session_state import SessionState
from agent_plugins.state.task_state import StepStatus
from mcp_memory_server import InvalidRequestError, Scope, Status, Turn

FORMAT = "agent-handoff/1"


@dataclass(frozen=True)
class HandoffPacket:
    """What somebody needs who takes over a conversation, as plain data. ``status`` says whether it is complete.

    ``summary`` is about what was said before the last ``turns``, and what the agents have done; ``open_questions`` wait
    for an answer; ``slots`` are what is known and what is missing, with ``state`` empty, inferred or confirmed.
    """

    user_id: str
    session_id: str
    reason: str
    at: str
    to: str | None = None
    by: str | None = None
    intent: str | None = None
    summary: str = ""
    open_questions: Sequence[str] = ()
    slots: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    turns: Sequence[Mapping[str, Any]] = ()
    environment: Mapping[str, Any] = field(default_factory=dict[str, Any])
    status: str = Status.COMPLETE.value
    missing: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the packet as plain data that can be sent as JSON."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the packet that another system sent. Fields of later versions are left out.

        Raises:
            InvalidRequestError: It is not a packet.
        """
        if plain.get("format") != FORMAT:
            raise InvalidRequestError(f"a hand-off packet has the format {FORMAT!r}, got {plain.get('format')!r}")
        names = {each.name for each in fields(cls)}
        try:
            return cls(**{name: value for name, value in plain.items() if name in names})
        except TypeError as error:
            raise InvalidRequestError(f"this hand-off packet is not whole: {error}") from None

    def to_text(self) -> str:
        """Return the packet for a person to read."""
        lines = [f"{self.reason} (user {self.user_id}, session {self.session_id}, {self.at})"]
        lines += [f"The user wants: {self.intent}"] if self.intent else []
        lines += ["", self.summary] if self.summary else []
        lines += ["", "Open questions:", *(f"- {question}" for question in self.open_questions)]
        lines += ["", "Known and missing:", *(_slot_line(name, slot) for name, slot in self.slots.items())]
        lines += ["", "Last turns:", *(f"- {turn['speaker']}: {turn['text']}" for turn in self.turns)]
        lines += ["", f"Not complete; missing: {', '.join(self.missing)}"] if self.missing else []
        return "\n".join(lines)


def packet(
    scope: Scope,
    state: SessionState,
    handoff: Handoff,
    *,
    turns: Sequence[Turn],
    summary: str | None,
    missing: Sequence[str] = (),
) -> HandoffPacket:
    """Return the packet for a state, with the last turns and a summary of those before."""
    conversation = state.conversation
    asked = conversation.next_question()
    questions = ([] if asked is None else [asked.question]) + [
        slot.question
        for name, slot in conversation.slots.items()
        if slot.is_open and slot.question and (asked is None or name != asked.slot)
    ]
    return HandoffPacket(
        user_id=scope.user_id,
        session_id=scope.session_id or "",
        reason=handoff.reason,
        at=datetime.fromtimestamp(handoff.at, UTC).isoformat(timespec="seconds"),
        to=handoff.to,
        by=handoff.by,
        intent=conversation.intent,
        summary="\n".join(filter(None, [summary or "", *_work(state)])),
        open_questions=tuple(questions),
        slots={name: _slot(slot) for name, slot in state.to_dict()["conversation"]["slots"].items()},
        turns=tuple(_turn(turn) for turn in turns),
        environment=state.to_dict()["environment"],
        status=Status.PARTIAL.value if missing else Status.COMPLETE.value,
        missing=tuple(missing),
    )


def _work(state: SessionState) -> Sequence[str]:
    """Return what the agents have done for the task, one line for each step."""
    if state.task is None:
        return []
    lines = [f"Task: {state.task.goal}"]
    for name, step in state.task.steps.items():
        why = f": {step.error}" if step.error else ""
        done = f": {quoted(step.result)}" if step.status is StepStatus.DONE and step.result is not None else ""
        lines.append(f"- {name}: {step.status.value}{why}{done}")
    return lines


def _slot(slot: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("value", "state", "required", "problem", "question", "values")
    return {name: slot[name] for name in kept if slot[name] not in (None, [])}


def _slot_line(name: str, slot: Mapping[str, Any]) -> str:
    if slot.get("state") == SlotState.EMPTY:
        return f"- {name}: missing"
    note = slot.get("problem") or slot.get("state")
    return f"- {name}: {slot.get('value')} ({note})"


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "role": turn.role.value,
        "speaker": turn.speaker or turn.role.value,
        "text": turn.content,
        "at": turn.at.isoformat(timespec="seconds"),
    }
