"""The shared state as text for an agent: short, within its budget, and quoted as data."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_plugins.state.agent_context import TITLE, write_context
from agent_plugins.state.changes import (
    ask_for_missing_slot,
    ask_user,
    begin_task,
    fail_step,
    fill_slot,
    need_slot,
    need_slots,
    plan_step,
    start_step,
    take_turn,
    understand,
)
from agent_plugins.state.environment_state import Environment
from agent_plugins.state.session_state import Change, SessionState
from mcp_memory_server import Status, count_tokens

EVERYTHING = (
    need_slots("address", "email", "title"),
    fill_slot("title", "Dune", confirmed=True),
    fill_slot("edition", "hardcover"),
    fill_slot("email", "ana", problem="it has no @"),
    understand("order a book"),
    ask_user("Where shall we send it?", slot="address"),
    begin_task("order", task_id="t", budget=60),
    start_step("pay", "charge"),
    fail_step("pay", "card declined"),
    start_step("pay", "charge"),
    plan_step("ship"),
    take_turn(),
)


def state_after(*changes: Change, environment: Environment | None = None) -> SessionState:
    state = SessionState(environment=environment or Environment())
    for change in changes:
        state = change(state)
    return state


def test_everything_an_agent_can_act_on_is_listed_the_most_urgent_first() -> None:
    environment = Environment("pt-PT", "pt", "vip", {"items": 2, "total": "31.90 EUR"}, ("free shipping",))

    text = write_context(
        state_after(*EVERYTHING, environment=environment), Status.COMPLETE, count_tokens, 500, remaining=20
    )

    assert text.splitlines() == [
        *TITLE.splitlines(),
        '- waiting for the user\'s answer to "Where shall we send it?" (fills "address")',
        '- still needed: "address"',
        '- not valid: "email" = "ana": "it has no @"',
        '- task: "order", step 1 of 2, "pay" with "charge": running, retry 1, 20 s left',
        '- the user wants: "order a book"',
        '- to be confirmed: "edition" = "hardcover"',
        '- confirmed: "title" = "Dune"',
        '- cart: {"items": 2, "total": "31.90 EUR"}',
        '- promotions: "free shipping"',
        '- user: language "pt", locale "pt-PT", tier "vip"',
    ]


def test_what_is_missing_is_listed_with_how_to_ask_for_it() -> None:
    state = state_after(
        need_slots("street", "town"),
        need_slot("size", question="Which size?", values=("S", "M")),
        need_slot("title"),
        need_slot("paper", question="Which paper?"),
        fill_slot("title", "Dune"),
        fill_slot("paper", "gold", problem="not on sale"),
        ask_for_missing_slot(),
    )

    assert write_context(state, Status.COMPLETE, count_tokens, 500).splitlines()[2:] == [
        '- waiting for the user\'s answer to "Which size?" (fills "size")',
        '- still needed: "street", "town"',
        '- still needed: "size", one of "S", "M"',
        '- still needed: that the user confirms "title" = "Dune"',
        '- not valid: "paper" = "gold": "not on sale"; ask "Which paper?"',
    ]


def test_a_state_with_nothing_to_act_on_is_an_empty_text() -> None:
    assert write_context(SessionState(), Status.COMPLETE, count_tokens, 500) == ""


@pytest.mark.parametrize("status", [Status.PARTIAL, Status.UNAVAILABLE])
def test_a_state_that_may_lack_something_says_so_first(status: Status) -> None:
    lines = write_context(SessionState(), status, count_tokens, 500).splitlines()

    assert lines[2].startswith(f"- shared state: {status.value};")


def test_a_task_past_its_budget_says_what_to_do() -> None:
    text = write_context(state_after(*EVERYTHING), Status.COMPLETE, count_tokens, 500, remaining=-7.2)

    assert "- time: 7 s over budget; finish now with what you have, and say what is missing" in text


def test_failed_steps_are_listed_with_the_reason() -> None:
    state = state_after(begin_task("order"), start_step("pay"), fail_step("pay", "card declined"))

    assert '- failed: "pay": "card declined"' in write_context(state, Status.COMPLETE, count_tokens, 500)


texts = st.text(max_size=300)


@given(st.lists(st.tuples(texts, texts, st.booleans()), max_size=20), texts, texts, st.integers(20, 400))
def test_the_budget_holds_whatever_the_values_are(
    slots: list[tuple[str, str, bool]], question: str, goal: str, max_tokens: int
) -> None:
    filled = [fill_slot(name, value, confirmed=sure) for name, value, sure in slots]
    state = state_after(*filled, ask_user(question), begin_task(goal), need_slots("address"))

    text = write_context(state, Status.UNAVAILABLE, count_tokens, max_tokens)

    assert count_tokens(text) <= max_tokens


@given(texts, texts, texts)
def test_values_never_begin_a_line_or_a_tag_of_their_own(name: str, value: str, error: str) -> None:
    state = state_after(
        fill_slot(name, {"text": value}),
        ask_user(value, slot=name),
        begin_task(error),
        start_step(name, value),
        fail_step(name, error),
        environment=Environment(cart=value, promotions=(error,)),
    )

    text = write_context(state, Status.COMPLETE, count_tokens, 10_000)

    lines = text.removeprefix(TITLE).strip().splitlines()
    assert all(re.match(r"- [a-z]", line) for line in lines)
    assert len(lines) == 6
    assert not set("<>`") & set(text)
