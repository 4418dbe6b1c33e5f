"""Noting: a turn that the table holds finds its place among the turns at hand, once."""

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import CacheMiss
from mcp_memory_server.domain.sessions.limits import Limits
from tests.stores.sessions import (
    EPOCH,
    OpenSessions,
    append,
    begin,
    copy_of,
    fill,
    note,
    served,
    token_for,
    turns_in_order,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("place", range(4))
async def test_a_noted_turn_is_put_into_its_place_and_counts(
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope, place: int
) -> None:
    turns = turns_in_order(4)
    await begin(session_memory, scope, copy_of([turn for turn in turns if turn is not turns[place]]))

    await note(other_client, scope, turns[place])

    assert await served(session_memory, scope) == copy_of(turns)


async def test_appending_goes_on_after_a_noted_turn(session_memory: OpenSessions, scope: Scope) -> None:
    early, late = turns_in_order(2)
    await begin(session_memory, scope)

    await note(session_memory, scope, late)

    assert (await append(session_memory, scope, early)).turn_id > late.id


async def test_a_turn_that_was_appended_here_is_not_noted_again(session_memory: OpenSessions, scope: Scope) -> None:
    turns = turns_in_order(5)
    await begin(session_memory, scope)
    for number, turn in enumerate(turns):
        await append(session_memory, scope, turn, operation=f"o-{number}", limits=Limits(turns=3))
    before = await served(session_memory, scope)

    for number, turn in enumerate(turns):
        await note(session_memory, scope, turn, operation=f"o-{number}")
    await note(session_memory, scope, turns[0])

    assert await served(session_memory, scope) == before


async def test_a_noted_operation_is_recognised_when_it_is_noted_or_appended_again(
    session_memory: OpenSessions, scope: Scope
) -> None:
    (turn,) = turns_in_order(1)
    await begin(session_memory, scope)

    await note(session_memory, scope, turn, operation="once")
    await note(session_memory, scope, turn, operation="once")
    again = await append(session_memory, scope, operation="once")

    assert (again.repeated, again.turn_id, again.count) == (True, turn.id, 1)
    assert await served(session_memory, scope) == copy_of([turn])


async def test_a_noted_turn_makes_the_least_important_one_leave(session_memory: OpenSessions, scope: Scope) -> None:
    turns = turns_in_order(4)
    await begin(session_memory, scope, copy_of([turns[0], turns[2], turns[3]]))

    await note(session_memory, scope, turns[1], limits=Limits(turns=3))

    copy = await served(session_memory, scope)
    assert [turn.content for turn in copy.turns] == ["turn 0", "turn 2", "turn 3"]
    assert (copy.count, copy.tokens, copy.total_tokens, copy.gap) == (4, 30, 40, turns[1].id)


async def test_without_a_copy_nothing_is_begun(session_memory: OpenSessions, scope: Scope) -> None:
    (turn,) = turns_in_order(1)

    await note(session_memory, scope, turn)

    assert isinstance(await session_memory.cache.load(scope, epoch=EPOCH), CacheMiss)
    await begin(session_memory, scope)
    assert (await served(session_memory, scope)).count == 0


async def test_a_turn_noted_before_the_copy_is_filled_is_recorded_once(
    session_memory: OpenSessions, scope: Scope
) -> None:
    turns, small = turns_in_order(5), Limits(turns=2)
    token = await token_for(session_memory, scope)
    for turn in turns[1:]:
        await note(session_memory, scope, turn, limits=small)
    for turn in turns[1:]:
        await note(session_memory, scope, turn, limits=small)

    await fill(session_memory, scope, copy_of(turns[:2]), token)

    copy = await served(session_memory, scope)
    assert (copy.count, copy.total_tokens) == (5, 50)


async def test_a_copy_of_an_earlier_epoch_is_served_to_nobody_once_a_turn_was_noted(
    session_memory: OpenSessions, scope: Scope
) -> None:
    (turn,) = turns_in_order(1)
    await begin(session_memory, scope)

    await note(session_memory, scope, turn, epoch=EPOCH + 1)

    assert await session_memory.cache.load(scope, epoch=EPOCH) == CacheMiss("", may_be_filled=False)
    token = await token_for(session_memory, scope, epoch=EPOCH + 1)
    assert await fill(session_memory, scope, copy_of([]), token=token, epoch=EPOCH + 1)
    assert await session_memory.cache.load(scope, epoch=EPOCH + 1) == copy_of([turn])


async def test_a_copy_of_a_later_epoch_takes_a_note(session_memory: OpenSessions, scope: Scope) -> None:
    (turn,) = turns_in_order(1)
    await begin(session_memory, scope)

    await note(session_memory, scope, turn, epoch=EPOCH - 1)

    assert await served(session_memory, scope) == copy_of([turn])


async def test_a_turn_that_lies_here_under_another_id_makes_the_copy_one_that_is_filled_again(
    session_memory: OpenSessions, scope: Scope
) -> None:
    unheard_of, kept = turns_in_order(2)
    await begin(session_memory, scope)
    await append(session_memory, scope, unheard_of, operation="o-1")

    await note(session_memory, scope, kept, operation="o-1")

    token = await token_for(session_memory, scope)
    assert await fill(session_memory, scope, copy_of([]), token=token)
    assert await served(session_memory, scope) == copy_of([kept])
