"""Noting: a turn that the table holds finds its place among the turns at hand, once."""

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import CacheMiss
from mcp_memory_server.domain.sessions.limits import REMEMBERED_OPERATIONS, Limits
from tests.stores.sessions import (
    EPOCH,
    OpenSessions,
    append,
    begin,
    cached,
    fill,
    load_whole,
    record_stored,
    token_for,
    turns_in_order,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("place", range(4))
async def test_a_noted_turn_is_put_into_its_place_and_counts(
    client: OpenSessions, other_client: OpenSessions, scope: Scope, place: int
) -> None:
    turns = turns_in_order(4)
    await begin(client, scope, cached([turn for turn in turns if turn is not turns[place]]))

    await record_stored(other_client, scope, turns[place])

    assert await load_whole(client, scope) == cached(turns)


async def test_appending_goes_on_after_a_noted_turn(client: OpenSessions, scope: Scope) -> None:
    early, late = turns_in_order(2)
    await begin(client, scope)

    await record_stored(client, scope, late)

    assert (await append(client, scope, early)).turn_id > late.id


async def test_a_turn_that_was_appended_here_is_not_noted_again(client: OpenSessions, scope: Scope) -> None:
    turns = turns_in_order(5)
    await begin(client, scope)
    for number, turn in enumerate(turns):
        await append(client, scope, turn, operation=f"o-{number}", limits=Limits(turns=3))
    before = await load_whole(client, scope)

    for number, turn in enumerate(turns):
        await record_stored(client, scope, turn, operation=f"o-{number}")
    await record_stored(client, scope, turns[0])

    assert await load_whole(client, scope) == before


async def test_a_noted_operation_is_recognised_when_it_is_noted_or_appended_again(
    client: OpenSessions, scope: Scope
) -> None:
    (turn,) = turns_in_order(1)
    await begin(client, scope)

    await record_stored(client, scope, turn, operation="once")
    await record_stored(client, scope, turn, operation="once")
    again = await append(client, scope, operation="once")

    assert (again.repeated, again.turn_id, again.count) == (True, turn.id, 1)
    assert await load_whole(client, scope) == cached([turn])


async def test_a_noted_turn_makes_the_least_important_one_leave(client: OpenSessions, scope: Scope) -> None:
    turns = turns_in_order(4)
    await begin(client, scope, cached([turns[0], turns[2], turns[3]]))

    await record_stored(client, scope, turns[1], limits=Limits(turns=3))

    copy = await load_whole(client, scope)
    assert [turn.content for turn in copy.turns] == ["turn 0", "turn 2", "turn 3"]
    assert (copy.count, copy.tokens, copy.total_tokens, copy.gap) == (4, 30, 40, turns[1].id)


async def test_without_a_copy_nothing_is_begun(client: OpenSessions, scope: Scope) -> None:
    (turn,) = turns_in_order(1)

    await record_stored(client, scope, turn)

    assert isinstance(await client.cache.load(scope, epoch=EPOCH), CacheMiss)
    await begin(client, scope)
    assert (await load_whole(client, scope)).count == 0


async def test_a_turn_noted_before_the_copy_is_filled_is_recorded_once(client: OpenSessions, scope: Scope) -> None:
    turns, small = turns_in_order(5), Limits(turns=2)
    token = await token_for(client, scope)
    for turn in turns[1:]:
        await record_stored(client, scope, turn, limits=small)
    for turn in turns[1:]:
        await record_stored(client, scope, turn, limits=small)

    await fill(client, scope, cached(turns[:2]), token)

    copy = await load_whole(client, scope)
    assert (copy.count, copy.total_tokens) == (5, 50)


async def test_a_copy_of_an_earlier_epoch_is_served_to_nobody_once_a_turn_was_noted(
    client: OpenSessions, scope: Scope
) -> None:
    (turn,) = turns_in_order(1)
    await begin(client, scope)

    await record_stored(client, scope, turn, epoch=EPOCH + 1)

    assert await client.cache.load(scope, epoch=EPOCH) == CacheMiss("", may_be_filled=False)
    token = await token_for(client, scope, epoch=EPOCH + 1)
    assert await fill(client, scope, cached([]), token=token, epoch=EPOCH + 1)
    assert await client.cache.load(scope, epoch=EPOCH + 1) == cached([turn])


async def test_a_copy_of_a_later_epoch_takes_a_note(client: OpenSessions, scope: Scope) -> None:
    (turn,) = turns_in_order(1)
    await begin(client, scope)

    await record_stored(client, scope, turn, epoch=EPOCH - 1)

    assert await load_whole(client, scope) == cached([turn])


async def test_a_turn_that_lies_here_under_another_id_makes_the_copy_one_that_is_filled_again(
    client: OpenSessions, scope: Scope
) -> None:
    unheard_of, kept = turns_in_order(2)
    await begin(client, scope)
    await append(client, scope, unheard_of, operation="o-1")

    await record_stored(client, scope, kept, operation="o-1")

    token = await token_for(client, scope)
    assert await fill(client, scope, cached([]), token=token)
    assert await load_whole(client, scope) == cached([kept])


async def test_a_turn_that_this_session_counted_is_never_counted_again(client: OpenSessions, scope: Scope) -> None:
    turns = turns_in_order(REMEMBERED_OPERATIONS + 50)
    await begin(client, scope)
    tokens = [(await append(client, scope, turn)).token for turn in turns]

    for turn, token in zip(turns, tokens, strict=True):
        await record_stored(client, scope, turn, counted_in=token)

    assert (await load_whole(client, scope)).count == len(turns)


async def test_a_turn_before_the_gap_that_another_session_counted_makes_the_session_one_that_is_filled_again(
    client: OpenSessions, scope: Scope
) -> None:
    early, *turns = turns_in_order(5)
    await begin(client, scope)
    for turn in turns:
        await append(client, scope, turn, limits=Limits(turns=2))

    await record_stored(client, scope, early, counted_in="an earlier one")

    token = await token_for(client, scope)
    assert await fill(client, scope, cached([early, *turns]), token=token)
    assert (await load_whole(client, scope)).count == 5
