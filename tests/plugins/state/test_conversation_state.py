"""Where a conversation stands: phases follow a table, and slots keep what was confirmed."""

from itertools import product

import pytest

from agent_plugins.state.changes import (
    ask_user,
    clear_slot,
    confirm_slot,
    fill_slot,
    need_slots,
    take_turn,
    understand,
)
from agent_plugins.state.conversation_state import MOST_SLOTS, NEXT_PHASES, Conversation, Phase, Slot, SlotState
from agent_plugins.state.session_state import Change, SessionState
from mcp_memory_server import InvalidRequestError, NotFoundError

ALLOWED = {
    "start": "gathering clarifying acting answering escalated ended",
    "gathering": "clarifying confirming acting answering escalated ended",
    "clarifying": "gathering confirming acting answering escalated ended",
    "confirming": "gathering clarifying acting escalated ended",
    "acting": "gathering clarifying confirming answering escalated ended",
    "answering": "gathering clarifying acting escalated ended",
    "escalated": "gathering ended",
    "ended": "start",
}


def after(*changes: Change, state: SessionState | None = None) -> Conversation:
    state = state or SessionState()
    for change in changes:
        state = change(state)
    return state.conversation


@pytest.mark.parametrize(("here", "there"), list(product(Phase, Phase)), ids=str)
def test_a_phase_follows_another_exactly_where_the_table_says_so(here: Phase, there: Phase) -> None:
    conversation = Conversation(phase=here)

    if here is there or there.value in ALLOWED[here].split():
        assert conversation.entering(there).phase is there
    else:
        with pytest.raises(InvalidRequestError, match=f"does not go from {here} to {there}; it may go to"):
            conversation.entering(there)


def test_every_phase_can_be_reached_from_the_start_and_left_again() -> None:
    reached, new = {Phase.START}, {Phase.START}
    while new:
        new = {after for phase in new for after in NEXT_PHASES[phase]} - reached
        reached |= new

    assert reached == set(Phase)
    assert all(NEXT_PHASES[phase] for phase in Phase)


def test_a_required_slot_is_open_until_it_has_a_valid_value() -> None:
    empty = after(need_slots("email"))
    wrong = after(need_slots("email"), fill_slot("email", "ana", problem="it has no @"))
    right = after(need_slots("email"), fill_slot("email", "ana@example.org"))

    assert [conversation.open_slots() for conversation in (empty, wrong, right)] == [["email"], ["email"], []]


def test_what_is_inferred_never_replaces_what_was_confirmed() -> None:
    conversation = after(fill_slot("size", "L", confirmed=True), fill_slot("size", "M"))

    assert (conversation.slots["size"].value, conversation.slots["size"].state) == ("L", SlotState.CONFIRMED)


def test_what_is_inferred_replaces_a_confirmed_value_that_is_not_valid() -> None:
    conversation = after(fill_slot("size", "XXXL", confirmed=True, problem="not on sale"), fill_slot("size", "L"))

    assert (conversation.slots["size"].value, conversation.slots["size"].state) == ("L", SlotState.INFERRED)


def test_confirming_keeps_the_value_and_needs_one() -> None:
    conversation = after(fill_slot("size", "L", agent="orders"), confirm_slot("size"))

    assert conversation.slots["size"] == Slot("L", SlotState.CONFIRMED, filled_by="orders")
    with pytest.raises(NotFoundError, match="the slot 'colour' is empty"):
        after(confirm_slot("colour"))


def test_filling_the_slot_that_was_asked_for_answers_the_question() -> None:
    asked = ask_user("Which size?", slot="size")

    assert after(asked, fill_slot("colour", "red")).clarification is not None
    assert after(asked, fill_slot("size", "?", problem="unclear")).clarification is not None
    assert after(asked, fill_slot("size", "L")).clarification is None


def test_clearing_a_slot_leaves_it_open_if_it_is_required() -> None:
    conversation = after(
        need_slots("size"), fill_slot("size", "L"), fill_slot("note", "x"), clear_slot("size"), clear_slot("note")
    )

    assert (conversation.open_slots(), set(conversation.slots)) == (["size"], {"size"})


def test_slots_without_end_are_refused() -> None:
    state = SessionState(Conversation(slots={str(number): Slot() for number in range(MOST_SLOTS)}))

    assert len(after(fill_slot("0", "again"), state=state).slots) == MOST_SLOTS
    with pytest.raises(InvalidRequestError, match="at most 200 slots"):
        after(fill_slot("one more", "x"), state=state)


def test_what_a_later_release_wrote_survives_a_rewrite() -> None:
    plain = {
        "conversation": {
            "mood": "good",
            "turn_count": 3,
            "slots": {"size": {"value": "L", "state": "inferred", "why": 1}},
        },
        "task": {
            "id": "1",
            "goal": "order",
            "started_at": 5.0,
            "risk": 0.1,
            "steps": {"pay": {"tool": "pay", "cost": 2}},
        },
        "environment": {"weather": "rain"},
        "operations": ["abc"],
        "later": [1],
    }

    state = take_turn()(SessionState.from_plain(plain))
    again = SessionState.from_plain(understand("x")(state).to_plain()).to_plain()

    assert (again["later"], again["environment"]["weather"]) == ([1], "rain")
    assert (again["conversation"]["mood"], again["conversation"]["slots"]["size"]["why"]) == ("good", 1)
    assert (again["task"]["risk"], again["task"]["steps"]["pay"]["cost"]) == (0.1, 2)
    assert again["conversation"]["turn_count"] == 4


@pytest.mark.parametrize(
    "value", ["text", 7, [], {"task": {"id": "without a goal"}}, {"conversation": {"phase": "odd"}}]
)
def test_what_is_no_state_is_not_read_as_one(value: object) -> None:
    with pytest.raises(ValueError):
        SessionState.from_plain(value)
