"""Whatever agents do, their state is read back as it was written, and an operation is recognised."""

import json

from hypothesis import given
from hypothesis import strategies as st

from agent_plugins.state import changes
from agent_plugins.state.phases import NEXT_PHASES, Phase, with_phase
from agent_plugins.state.session_state import REMEMBERED_OPERATIONS, REMEMBERED_WRITERS, Change, SessionState
from mcp_memory_server import MemoryServerError

names = st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
monotonic = st.floats(0, 1e10)

some_change = st.one_of(
    st.builds(changes.enter_phase, st.sampled_from(Phase)),
    st.builds(changes.understand, st.none() | names),
    st.builds(changes.hand_over, st.none() | names),
    st.builds(changes.take_turn),
    st.builds(changes.need_slots, names, names),
    st.builds(changes.need_slot, names, question=st.none() | names, values=st.lists(values, max_size=3)),
    st.builds(changes.ask_for_missing_slot, agent=names),
    st.builds(changes.escalate, names, to=st.none() | names, now=monotonic),
    st.builds(changes.return_to_agents, names),
    st.builds(changes.fill_slot, names, values, confirmed=st.booleans(), agent=names, problem=st.none() | names),
    st.builds(changes.confirm_slot, names),
    st.builds(changes.clear_slot, names),
    st.builds(changes.ask_user, names, slot=st.none() | names),
    st.builds(changes.user_answered),
    st.builds(changes.begin_task, names, budget=st.none() | monotonic, now=monotonic),
    st.builds(changes.end_task),
    st.builds(changes.plan_step, names, names, values),
    st.builds(changes.start_step, names, names, values, timeout=st.none() | monotonic, now=monotonic),
    st.builds(changes.start_call, names, names, values, timeout=st.none() | monotonic, now=monotonic),
    st.builds(changes.time_out_steps, monotonic),
    st.builds(changes.finish_step, names, values, now=monotonic),
    st.builds(changes.fail_step, names, names, now=monotonic),
    st.builds(changes.skip_step, names),
)
environments = st.fixed_dictionaries(
    {},
    optional={
        "store": values,
        "locale": names,
        "tier": names,
        "cart": values,
        "promotions": st.lists(values, max_size=3),
    },
)


def applied(state: SessionState, change: Change) -> SessionState:
    try:
        return with_phase(state, change(state))
    except MemoryServerError:  # what does not fit is refused, and changes nothing
        return state


@given(st.lists(some_change, max_size=30), environments)
def test_a_state_is_read_back_as_it_was_written(done: list[Change], around: dict[str, object]) -> None:
    state = SessionState()
    for change in done:
        state = applied(state, change)
    state = SessionState(state.conversation, state.task, state.environment.updated(around), state.operations)

    stored = json.loads(json.dumps(state.to_plain(), allow_nan=False))

    assert SessionState.from_plain(stored) == state


@given(st.lists(some_change, max_size=30))
def test_phases_move_only_where_the_table_says_so_and_never_to_a_tool_while_a_slot_is_missing(
    done: list[Change],
) -> None:
    state = SessionState()
    for change in done:
        before, state = state, applied(state, change)
        here, there = before.conversation.phase, state.conversation.phase
        assert there is here or there in NEXT_PHASES[here]
        assert there is not Phase.TOOL_EXECUTION or not state.conversation.open_slots()


@given(st.lists(some_change, max_size=20))
def test_every_state_can_be_sent_as_json(done: list[Change]) -> None:
    state = SessionState()
    for change in done:
        state = applied(state, change)

    shown = json.loads(json.dumps(state.to_dict(), allow_nan=False))

    assert shown["conversation"]["phase"] == state.conversation.phase.value
    assert shown["conversation"]["missing_slots"] == state.conversation.open_slots()


@given(st.lists(st.integers(0, 80), max_size=200))
def test_it_is_known_how_far_each_of_the_last_fifty_writers_has_got(writers: list[int]) -> None:
    state, expected = SessionState(), dict[str, int]()
    for number, writer in enumerate(map(str, writers), start=1):
        state = state.written_by(writer, number)
        expected = {**{name: last for name, last in expected.items() if name != writer}, writer: number}

    newest = sorted(expected.values())[-REMEMBERED_WRITERS:]
    assert state.writers == {writer: number for writer, number in expected.items() if number in newest}


@given(st.lists(st.text(), min_size=1, max_size=300, unique=True))
def test_the_last_two_hundred_operations_are_recognised_and_no_others(operations: list[str]) -> None:
    state = SessionState()
    for operation in operations:
        state = state.with_applied(operation)

    recognised = [operation for operation in operations if state.has_applied(operation)]

    assert recognised == operations[-REMEMBERED_OPERATIONS:]
    assert not state.has_applied("".join(operations) + "never done")
