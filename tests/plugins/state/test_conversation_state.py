"""Where a conversation stands: phases follow a table, and slots keep what was confirmed."""

from itertools import product

import pytest

from agent_plugins.state.changes import (
    ask_for_missing_slot,
    ask_user,
    clear_slot,
    confirm_slot,
    enter_phase,
    fill_slot,
    need_slot,
    need_slots,
    take_turn,
    understand,
)
from agent_plugins.state.conversation_state import MOST_SLOTS, Clarification, Conversation, Slot, SlotState
from agent_plugins.state.phases import NEXT_PHASES, Phase
from agent_plugins.state.session_state import Change, SessionState
from mcp_memory_server import InvalidRequestError, NotFoundError

AT_WORK = "intent_detection slot_filling tool_execution response_generation follow_up"
ALLOWED = {
    "greeting": f"{AT_WORK} handoff farewell",
    "intent_detection": f"{AT_WORK} handoff farewell",
    "slot_filling": f"{AT_WORK} handoff farewell",
    "tool_execution": f"{AT_WORK} handoff farewell",
    "response_generation": f"{AT_WORK} handoff farewell",
    "follow_up": f"{AT_WORK} handoff farewell",
    "handoff": "intent_detection slot_filling farewell",
    "farewell": "greeting intent_detection slot_filling tool_execution response_generation handoff",
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
    reached, new = {Phase.GREETING}, {Phase.GREETING}
    while new:
        new = {after for phase in new for after in NEXT_PHASES[phase]} - reached
        reached |= new

    assert reached == set(Phase)
    assert all(NEXT_PHASES[phase] for phase in Phase)


def test_a_required_slot_is_missing_until_the_user_has_said_or_confirmed_a_valid_value() -> None:
    empty = after(need_slots("email"))
    wrong = after(need_slots("email"), fill_slot("email", "ana", confirmed=True, problem="it has no @"))
    inferred = after(need_slots("email"), fill_slot("email", "ana@example.org"))
    right = after(need_slots("email"), fill_slot("email", "ana@example.org"), confirm_slot("email"))

    missing = [conversation.open_slots() for conversation in (empty, wrong, inferred, right)]
    assert missing == [["email"], ["email"], ["email"], []]


def test_a_slot_takes_only_the_values_that_it_may_have_and_case_does_not_matter() -> None:
    size = need_slot("size", values=["S", "M", "L"])

    taken = after(size, fill_slot("size", " m", confirmed=True)).slots["size"]
    refused = after(size, fill_slot("size", "XXL", confirmed=True)).slots["size"]

    assert (taken.value, taken.is_open) == ("M", False)
    assert (refused.value, refused.is_open, refused.problem) == ("XXL", True, 'it must be one of "S", "M", "L"')


def test_a_value_that_was_there_before_the_slot_was_described_is_checked() -> None:
    conversation = after(fill_slot("count", 7, confirmed=True), need_slot("count", values=[1, 2, 3]))

    assert conversation.open_slots() == ["count"]


def test_values_that_are_one_text_are_refused_at_once() -> None:
    with pytest.raises(InvalidRequestError, match="values must be a list such as"):
        need_slot("size", values="SML")


def test_the_next_question_is_that_of_the_first_missing_slot_and_is_asked_once() -> None:
    needed = [need_slot("size", question="Which size?"), need_slot("colour", question="Which colour?")]

    before = after(*needed)
    asked = after(*needed, ask_for_missing_slot(agent="orders"), ask_for_missing_slot(agent="search"))
    answered = after(*needed, ask_for_missing_slot(), fill_slot("size", "L", confirmed=True))

    assert before.next_question() == Clarification("Which size?", "size")
    assert asked.clarification == Clarification("Which size?", "size", "orders")
    assert answered.clarification is None
    assert answered.next_question() == Clarification("Which colour?", "colour")
    assert after(*needed, clear_slot("size")).slots["size"].question == "Which size?"


def test_no_tool_is_called_on_purpose_while_a_slot_is_missing() -> None:
    with pytest.raises(InvalidRequestError, match="has not said or confirmed 'size'"):
        after(need_slots("size"), fill_slot("size", "L"), enter_phase(Phase.TOOL_EXECUTION))


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
