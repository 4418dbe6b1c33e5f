"""The conversation layer of the shared state: its phase, its intent, and the slots that are filled."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from agent_plugins.state.plain_records import arguments_for, as_mapping, plain_value, to_plain
from mcp_memory_server import InvalidRequestError

MOST_SLOTS = 200


class Phase(StrEnum):
    """The phase of a conversation."""

    START = "start"
    GATHERING = "gathering"
    CLARIFYING = "clarifying"
    CONFIRMING = "confirming"
    ACTING = "acting"
    ANSWERING = "answering"
    ESCALATED = "escalated"
    ENDED = "ended"


_ANYWHERE = {Phase.ESCALATED, Phase.ENDED}

NEXT_PHASES: Mapping[Phase, frozenset[Phase]] = {
    Phase.START: frozenset({Phase.GATHERING, Phase.CLARIFYING, Phase.ACTING, Phase.ANSWERING} | _ANYWHERE),
    Phase.GATHERING: frozenset(
        {Phase.CLARIFYING, Phase.CONFIRMING, Phase.ACTING, Phase.ANSWERING} | _ANYWHERE,
    ),
    Phase.CLARIFYING: frozenset({Phase.GATHERING, Phase.CONFIRMING, Phase.ACTING, Phase.ANSWERING} | _ANYWHERE),
    Phase.CONFIRMING: frozenset({Phase.GATHERING, Phase.CLARIFYING, Phase.ACTING} | _ANYWHERE),
    Phase.ACTING: frozenset({Phase.GATHERING, Phase.CLARIFYING, Phase.CONFIRMING, Phase.ANSWERING} | _ANYWHERE),
    Phase.ANSWERING: frozenset({Phase.GATHERING, Phase.CLARIFYING, Phase.ACTING} | _ANYWHERE),
    Phase.ESCALATED: frozenset({Phase.GATHERING, Phase.ENDED}),
    Phase.ENDED: frozenset({Phase.START}),
}
"""The phases that may follow each phase; staying is always allowed. An unconfirmed action cannot go straight to the
answer, a conversation comes back from a human agent in the gathering phase, and one that ended starts again."""


class SlotState(StrEnum):
    """Whether a slot has a value, and how certain it is."""

    EMPTY = "empty"
    INFERRED = "inferred"
    CONFIRMED = "confirmed"


@dataclass(frozen=True)
class Slot:
    """A value that a task needs. ``problem`` says why it is not valid."""

    value: Any = None
    state: SlotState = SlotState.EMPTY
    required: bool = False
    problem: str | None = None
    filled_by: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_valid(self) -> bool:
        """Whether there is a usable value."""
        return self.state is not SlotState.EMPTY and self.problem is None

    @property
    def is_open(self) -> bool:
        """Whether a value is required and there is no usable one."""
        return self.required and not self.is_valid

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the slot from plain data."""
        known = arguments_for(cls, plain)
        known["state"] = SlotState(plain.get("state", SlotState.EMPTY))
        return cls(**known)


@dataclass(frozen=True)
class Clarification:
    """A question that waits for the user's answer."""

    question: str
    slot: str | None = None
    asked_by: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Conversation:
    """The state of the conversation. It is kept as long as the session."""

    phase: Phase = Phase.START
    intent: str | None = None
    active_agent: str | None = None
    slots: Mapping[str, Slot] = field(default_factory=dict[str, Slot])
    clarification: Clarification | None = None
    turn_count: int = 0
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def entering(self, phase: Phase) -> "Conversation":
        """Return the conversation in another phase.

        Raises:
            InvalidRequestError: `NEXT_PHASES` does not allow it.
        """
        if phase is not self.phase and phase not in NEXT_PHASES[self.phase]:
            allowed = ", ".join(sorted(NEXT_PHASES[self.phase]))
            raise InvalidRequestError(
                f"a conversation does not go from {self.phase.value} to {phase.value}; it may go to {allowed}"
            )
        return replace(self, phase=phase)

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
        filled = replace(slot, value=plain_value(value), state=state, filled_by=by, problem=problem)
        answered = self.clarification is not None and self.clarification.slot == name and problem is None
        return replace(self.with_slot(name, filled), clarification=None if answered else self.clarification)

    def open_slots(self) -> list[str]:
        """Return which slots still need a value."""
        return [name for name, slot in self.slots.items() if slot.is_open]

    def to_plain(self) -> dict[str, Any]:
        """Return the conversation as plain data."""
        plain = to_plain(self)
        if self.slots:
            plain["slots"] = {name: to_plain(slot) for name, slot in self.slots.items()}
        if self.clarification is not None:
            plain["clarification"] = to_plain(self.clarification)
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the conversation from plain data."""
        known = arguments_for(cls, plain)
        known["phase"] = Phase(plain.get("phase", Phase.START))
        known["slots"] = {
            name: Slot.from_plain(as_mapping(slot)) for name, slot in as_mapping(plain.get("slots")).items()
        }
        if asked := as_mapping(plain.get("clarification")):
            known["clarification"] = Clarification(**arguments_for(Clarification, asked))
        return cls(**known)
