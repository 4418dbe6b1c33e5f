"""The phases of a conversation: which may follow which, and how they follow from intent, slots and tasks.

    greeting ──► intent_detection ──► slot_filling ──► tool_execution ──► response_generation ──► follow_up ──► …
                                  any of them ──► handoff ──► intent_detection      any of them ──► farewell

A phase moves by itself with each change of the state (`with_phase`), unless the change entered one on purpose. Only a
person's part of the conversation is not guessed: ``handoff`` is entered and left on purpose.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from agent_plugins.state.conversation_state import Conversation
    from agent_plugins.state.session_state import SessionState

_FIRST_NAMES = {
    "start": "greeting",
    "gathering": "slot_filling",
    "clarifying": "slot_filling",
    "confirming": "slot_filling",
    "acting": "tool_execution",
    "answering": "response_generation",
    "escalated": "handoff",
    "ended": "farewell",
}
"""What the first release called the phases, and stored."""
_FAREWELLS = frozenset({"farewell", "goodbye"})
"""Intents that end a conversation."""


class Phase(StrEnum):
    """The phase of a conversation. The names of the first release still work: ``Phase.START`` is ``GREETING``."""

    GREETING = "greeting"
    INTENT_DETECTION = "intent_detection"
    SLOT_FILLING = "slot_filling"
    TOOL_EXECUTION = "tool_execution"
    RESPONSE_GENERATION = "response_generation"
    FOLLOW_UP = "follow_up"
    HANDOFF = "handoff"
    FAREWELL = "farewell"

    START = "greeting"
    GATHERING = "slot_filling"
    CLARIFYING = "slot_filling"
    CONFIRMING = "slot_filling"
    ACTING = "tool_execution"
    ANSWERING = "response_generation"
    ESCALATED = "handoff"
    ENDED = "farewell"

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        known = _FIRST_NAMES.get(value) if isinstance(value, str) else None
        return None if known is None else cls(known)


_AT_WORK = frozenset(
    {
        Phase.INTENT_DETECTION,
        Phase.SLOT_FILLING,
        Phase.TOOL_EXECUTION,
        Phase.RESPONSE_GENERATION,
        Phase.FOLLOW_UP,
    }
)
_ANYWHERE = frozenset({Phase.HANDOFF, Phase.FAREWELL})

NEXT_PHASES: Mapping[Phase, frozenset[Phase]] = {
    Phase.GREETING: _AT_WORK | _ANYWHERE,
    **{phase: (_AT_WORK | _ANYWHERE) - {phase} for phase in Phase if phase in _AT_WORK},
    Phase.HANDOFF: frozenset({Phase.INTENT_DETECTION, Phase.SLOT_FILLING, Phase.FAREWELL}),
    Phase.FAREWELL: (_AT_WORK - {Phase.FOLLOW_UP}) | {Phase.GREETING, Phase.HANDOFF},
}
"""The phases that may follow each phase; staying is always allowed. Nobody greets twice in one conversation; a person
gives it back where agents can go on, not in the middle of a tool; after a farewell there is nothing to follow up."""


def with_phase(before: "SessionState", after: "SessionState") -> "SessionState":
    """Return the state after a change, in the phase that follows from the change."""
    phase = after.conversation.phase
    if phase is not before.conversation.phase or phase is Phase.HANDOFF:
        return after
    following = _following(before, after)
    return after if following is phase else replace(after, conversation=replace(after.conversation, phase=following))


def phase_of_intent(conversation: "Conversation") -> Phase:
    """Return the phase of a conversation whose intent has just been understood."""
    if conversation.phase is Phase.HANDOFF:
        return Phase.HANDOFF
    if conversation.intent is None:
        return Phase.INTENT_DETECTION
    if conversation.intent.casefold() in _FAREWELLS:
        return Phase.FAREWELL
    return _asking(conversation) or _with_all_slots(conversation)


def _following(before: "SessionState", after: "SessionState") -> Phase:
    was, now, task = before.conversation, after.conversation, after.task
    if now.turn_count > was.turn_count:
        return Phase.FAREWELL if now.phase is Phase.FAREWELL else _asking(now) or Phase.FOLLOW_UP
    if task != before.task:
        return _of_task(before, after)
    if (now.intent, now.slots, now.clarification) == (was.intent, was.slots, was.clarification):
        return now.phase
    asking = _asking(now)
    if asking is not None or now.intent is None:
        return asking or Phase.INTENT_DETECTION
    return _of_task(before, after) if task is not None and task.steps else _with_all_slots(now)


def _of_task(before: "SessionState", after: "SessionState") -> Phase:
    now, task = after.conversation, after.task
    if task is None:
        return Phase.RESPONSE_GENERATION if now.phase is Phase.TOOL_EXECUTION else now.phase
    if (asking := _asking(now)) is not None:
        return asking
    if task.steps:
        return Phase.RESPONSE_GENERATION if task.current() is None else Phase.TOOL_EXECUTION
    is_new = before.task is None or before.task.id != task.id
    return Phase.INTENT_DETECTION if is_new else now.phase


def _asking(conversation: "Conversation") -> Phase | None:
    """Return the phase of a conversation that waits for something that the user has to say; None if it does not."""
    if conversation.open_slots():
        return Phase.SLOT_FILLING
    if conversation.clarification is None:
        return None
    return Phase.INTENT_DETECTION if conversation.intent is None else Phase.SLOT_FILLING


def _with_all_slots(conversation: "Conversation") -> Phase:
    needs_slots = any(slot.required for slot in conversation.slots.values())
    return Phase.TOOL_EXECUTION if needs_slots else Phase.RESPONSE_GENERATION
