"""Whatever is appended to a session, in whatever order: the turns at hand are those of a pure model."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_memory_server.domain.sessions.limits import Limits, Weight, trimmed
from mcp_memory_server.domain.sessions.turns import Turn
from tests.clock import FakeClock
from tests.stores.sessions import NOW, OpenSessions, SessionStores, a_turn, append, begin, load_whole, new_scope

EXAMPLES = 200

importances = st.one_of(st.sampled_from([0.1, 0.2, 0.4, 0.5, 0.6, 0.85, 0.9]), st.floats(0, 1))
turns = st.lists(
    st.builds(
        lambda tokens, importance, seconds: a_turn(
            at=NOW + timedelta(seconds=seconds), tokens=tokens, importance=importance
        ),
        st.integers(0, 3000),
        importances,
        st.integers(-5, 5),
    ),
    max_size=15,
)
limits = st.builds(Limits, tokens=st.integers(0, 6000), turns=st.integers(1, 8))


@pytest.fixture
def opened(session_stores: SessionStores, clock: FakeClock) -> Iterator[OpenSessions]:
    memory = asyncio.run(session_stores.open(clock))
    yield memory
    asyncio.run(memory.close())


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=turns, limits=limits)
def test_the_turns_that_stay_are_those_that_the_domain_lets_stay(
    opened: OpenSessions, turns: list[Turn], limits: Limits
) -> None:
    asyncio.run(compare(opened, turns, limits))


async def compare(memory: OpenSessions, turns: list[Turn], limits: Limits) -> None:
    scope, model = new_scope(), list[tuple[str, Turn]]()
    await begin(memory, scope)
    for number, turn in enumerate(turns):
        answer = await append(memory, scope, turn, limits=limits)
        model.append((answer.turn_id, turn))
        gone = trimmed([Weight(one.token_count, one.importance) for _, one in model], limits)
        assert [one.id for one in answer.trimmed] == [model[place][0] for place in gone]
        model = [one for place, one in enumerate(model) if place not in gone]
        assert (answer.count, answer.tokens) == (number + 1, sum(one.token_count for _, one in model))

    copy = await load_whole(memory, scope)
    assert [one.id for one in copy.turns] == [turn_id for turn_id, _ in model]
    assert [one.importance for one in copy.turns] == [one.importance for _, one in model]
    assert (copy.count, copy.tokens) == (len(turns), sum(one.token_count for _, one in model))
