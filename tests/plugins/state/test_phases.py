"""Phases move by themselves with intent, slots and tasks."""

import pytest

from agent_plugins.state.changes import (
    ask_user,
    begin_task,
    confirm_slot,
    end_task,
    enter_phase,
    escalate,
    fill_slot,
    finish_step,
    need_slot,
    need_slots,
    return_to_agents,
    start_step,
    take_turn,
    understand,
    user_answered,
)
from agent_plugins.state.conversation_state import Conversation
from agent_plugins.state.phases import Phase, with_phase
from agent_plugins.state.session_state import Change, SessionState
from mcp_memory_server import InvalidRequestError


def phases(*changes: Change) -> list[str]:
    """Return the phase after each change."""
    state, found = SessionState(), list[str]()
    for change in changes:
        state = with_phase(state, change(state))
        found.append(state.conversation.phase.value)
    return found


def test_an_order_goes_through_all_phases_without_anybody_entering_one() -> None:
    assert phases(
        begin_task("I want a book", task_id="1"),
        understand("order"),
        need_slot("title", question="Which book?"),
        fill_slot("title", "Dune"),
        confirm_slot("title"),
        start_step("order", "order"),
        finish_step("order", "no. 7"),
        take_turn(),
        end_task(),
        begin_task("Thanks, bye", task_id="2"),
        understand("farewell"),
        take_turn(),
    ) == [
        "intent_detection",
        "response_generation",
        "slot_filling",
        "slot_filling",
        "tool_execution",
        "tool_execution",
        "response_generation",
        "follow_up",
        "follow_up",
        "intent_detection",
        "farewell",
        "farewell",
    ]


def test_a_turn_that_ends_with_a_question_waits_for_its_answer() -> None:
    assert phases(
        understand("order"), need_slots("title"), take_turn(), fill_slot("title", "Dune", confirmed=True), take_turn()
    ) == ["response_generation", "slot_filling", "slot_filling", "tool_execution", "follow_up"]


def test_a_question_about_what_the_user_wants_is_intent_detection_and_a_later_one_is_about_the_task() -> None:
    assert phases(ask_user("Orders or returns?")) == ["intent_detection"]
    assert phases(understand("order"), ask_user("Shall I order it?"), user_answered()) == [
        "response_generation",
        "slot_filling",
        "response_generation",
    ]


def test_a_value_that_is_not_valid_leads_back_to_the_slots() -> None:
    size = need_slot("size", values=["S", "M"])

    assert phases(
        understand("order"), size, fill_slot("size", "S", confirmed=True), fill_slot("size", "XL", confirmed=True)
    ) == [
        "response_generation",
        "slot_filling",
        "tool_execution",
        "slot_filling",
    ]


def test_a_phase_that_was_entered_on_purpose_stays_until_something_else_changes() -> None:
    assert phases(enter_phase(Phase.FOLLOW_UP), understand("order")) == ["follow_up", "response_generation"]


def test_nothing_but_its_return_ends_the_part_of_a_person() -> None:
    busy = (begin_task("again"), understand("order"), need_slots("title"), take_turn())

    assert phases(escalate("angry"), *busy, return_to_agents("orders")) == ["handoff"] * 5 + ["slot_filling"]
    with pytest.raises(InvalidRequestError, match="no person has this conversation"):
        phases(return_to_agents())
    with pytest.raises(InvalidRequestError, match="does not go from handoff to tool_execution"):
        phases(escalate("angry"), enter_phase(Phase.TOOL_EXECUTION))


@pytest.mark.parametrize(
    ("stored", "phase"),
    [
        ("start", "greeting"),
        ("gathering", "slot_filling"),
        ("clarifying", "slot_filling"),
        ("confirming", "slot_filling"),
        ("acting", "tool_execution"),
        ("answering", "response_generation"),
        ("escalated", "handoff"),
        ("ended", "farewell"),
    ],
)
def test_phases_that_the_first_release_stored_are_read_and_their_names_still_work(stored: str, phase: str) -> None:
    assert Conversation.from_plain({"phase": stored}).phase.value == phase
    assert Phase[stored.upper()].value == phase
