"""The conversation layer of the shared state: its phase, its intent, and the slots that are filled."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from agent_plugins.state.phases import NEXT_PHASES, Phase
from agent_plugins.state.plain_records import arguments_for, as_mapping, plain_value, to_plain
from mcp_memory_server import InvalidRequestError

MOST_SLOTS = 200


class SlotState(StrEnum):
    """Whether a slot has a value, and how certain it is."""

    EMPTY = "empty"
    INFERRED = "inferred"
    CONFIRMED = "confirmed"


@dataclass(frozen=True)
class Slot:
    """A value that a task needs, the question that asks for it, and the ``values`` that it may have, if not any.

    ``problem`` says why the value is not valid.
    """

    value: Any = None
    state: SlotState = SlotState.EMPTY
    required: bool = False
    problem: str | None = None
    filled_by: str | None = None
    question: str | None = None
    values: tuple[Any, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_valid(self) -> bool:
        """Whether there is a usable value."""
        return self.state is not SlotState.EMPTY and self.problem is None

    @property
    def is_open(self) -> bool:
        """Whether a value is required, and the user has not said or confirmed a usable one."""
        return self.required and not (self.is_valid and self.state is SlotState.CONFIRMED)

    def holding(self, value: Any, state: SlotState, by: str | None, problem: str | None) -> "Slot":
        """Return the slot with a value. One that it may not have gets a problem; case does not matter."""
        held = plain_value(value)
        if self.values and problem is None:
            same = next((allowed for allowed in self.values if _is_same(allowed, held)), None)
            held = held if same is None else same
            problem = None if same is not None else f"it must be one of {', '.join(map(_as_json, self.values))}"
        return replace(self, value=held, state=state, filled_by=by, problem=problem)

    def to_plain(self) -> dict[str, Any]:
        """Return the slot as plain data."""
        plain = to_plain(self)
        return {**plain, "values": list(self.values)} if self.values else plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the slot from plain data."""
        known = arguments_for(cls, plain)
        known["state"] = SlotState(plain.get("state", SlotState.EMPTY))
        known["values"] = tuple(plain.get("values") or ())
        return cls(**known)


@dataclass(frozen=True)
class Clarification:
    """A question that waits for the user's answer."""

    question: str
    slot: str | None = None
    asked_by: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Handoff:
    """A conversation that was given to a person: why, to whom, by which agent, and when, in Unix seconds."""

    reason: str
    to: str | None = None
    by: str | None = None
    at: float = 0.0
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Conversation:
    """The state of the conversation. It is kept as long as the session."""

    phase: Phase = Phase.GREETING
    intent: str | None = None
    active_agent: str | None = None
    slots: Mapping[str, Slot] = field(default_factory=dict[str, Slot])
    clarification: Clarification | None = None
    turn_count: int = 0
    handoff: Handoff | None = None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def entering(self, phase: Phase) -> "Conversation":
        """Return the conversation in another phase.

        Raises:
            InvalidRequestError: `NEXT_PHASES` does not allow it, or a tool is to be called and slots are missing.
        """
        if phase is not self.phase and phase not in NEXT_PHASES[self.phase]:
            allowed = ", ".join(sorted(NEXT_PHASES[self.phase]))
            raise InvalidRequestError(
                f"a conversation does not go from {self.phase.value} to {phase.value}; it may go to {allowed}"
            )
        if phase is Phase.TOOL_EXECUTION and (missing := self.open_slots()):
            names = ", ".join(map(repr, missing))
            raise InvalidRequestError(f"no tool can be called yet: the user has not said or confirmed {names}")
        return replace(self, phase=phase, handoff=self.handoff if phase is Phase.HANDOFF else None)

    def with_slot(self, name: str, slot: Slot) -> "Conversation":
        """Return the conversation with this slot.

        Raises:
            InvalidRequestError: There are too many slots.
        """
        if name not in self.slots and len(self.slots) >= MOST_SLOTS:
            raise InvalidRequestError(f"a conversation has at most {MOST_SLOTS} slots; clear some that are done with")
        return replace(self, slots={**self.slots, name: slot})

    def filling(self, name: str, value: Any, state: SlotState, by: str | None, problem: str | None) -> "Conversation":
        """Return the conversation with a value in a slot. An inferred value never replaces a valid confirmed one."""
        slot = self.slots.get(name, Slot())
        if state is SlotState.INFERRED and slot.state is SlotState.CONFIRMED and slot.is_valid:
            return self
        filled = slot.holding(value, state, by, problem)
        answered = self.clarification is not None and self.clarification.slot == name and filled.problem is None
        return replace(self.with_slot(name, filled), clarification=None if answered else self.clarification)

    def open_slots(self) -> list[str]:
        """Return which required slots are missing: empty, not valid, or only inferred."""
        return [name for name, slot in self.slots.items() if slot.is_open]

    def next_question(self) -> Clarification | None:
        """Return what to ask the user next; None if there is nothing.

        It is what was asked already, else the question of the first missing slot that has one.
        """
        if self.clarification is not None:
            return self.clarification
        asked = ((name, self.slots[name].question) for name in self.open_slots())
        return next((Clarification(question, name) for name, question in asked if question), None)

    def to_plain(self) -> dict[str, Any]:
        """Return the conversation as plain data."""
        plain = to_plain(self)
        if self.slots:
            plain["slots"] = {name: slot.to_plain() for name, slot in self.slots.items()}
        if self.clarification is not None:
            plain["clarification"] = to_plain(self.clarification)
        if self.handoff is not None:
            plain["handoff"] = to_plain(self.handoff)
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the conversation from plain data."""
        known = arguments_for(cls, plain)
        known["phase"] = Phase(plain.get("phase", Phase.GREETING))
        known["slots"] = {
            name: Slot.from_plain(as_mapping(slot)) for name, slot in as_mapping(plain.get("slots")).items()
        }
        if asked := as_mapping(plain.get("clarification")):
            known["clarification"] = Clarification(**arguments_for(Clarification, asked))
        if given := as_mapping(plain.get("handoff")):
            known["handoff"] = Handoff(**arguments_for(Handoff, given))
        return cls(**known)


def _is_same(allowed: Any, value: Any) -> bool:
    if isinstance(allowed, str) and isinstance(value, str):
        return allowed.casefold() == value.strip().casefold()
    return allowed == value and isinstance(allowed, bool) == isinstance(value, bool)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
