"""A copy is served only when nothing is missing from it, and to those only who share its epoch."""

from dataclasses import replace

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import next_ulid
from mcp_memory_server.domain.sessions.cached_session import CachedSession, CacheMiss
from mcp_memory_server.domain.sessions.limits import MAX_RECORDED_TURNS, Limits
from mcp_memory_server.errors import CacheUnavailableError, InvalidRequestError
from tests.clock import FakeClock
from tests.stores.sessions import (
    EPOCH,
    NOW,
    OpenSessions,
    SessionStores,
    a_turn,
    append,
    begin,
    cached,
    fill,
    load_whole,
    token_for,
    try_to_append,
    turns_in_order,
)

pytestmark = pytest.mark.anyio

HOSTILE = [
    "a",
    "a:b",
    "b:c",
    "a%3Ab",
    "{a}",
    "}a{",
    "a}:session:b",
    "a\nb",
    "a b",
    "*",
    "\uff41",
    "🦊",
    "a\x00b",
    "%",
    "A",
]


async def test_there_is_no_copy_at_first_and_everybody_gets_the_same_token(
    client: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    found = await client.cache.load(scope, epoch=EPOCH)

    assert isinstance(found, CacheMiss)
    assert found.token
    assert found.may_be_filled
    assert await other_client.cache.load(scope, epoch=EPOCH) == found


async def test_a_new_session_begins_whole_when_it_is_filled_with_nothing(client: OpenSessions, scope: Scope) -> None:
    await begin(client, scope)

    assert await client.cache.load(scope, epoch=EPOCH) == CachedSession((), 0, 0, 0)


async def test_a_filled_copy_is_served_as_the_table_told_it(
    client: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    turns = turns_in_order(5)
    copy = cached(turns[1:], count=70, total=700, summary="Ana wants é \ud800 refund", gap=turns[0].id)

    await begin(client, scope, copy)

    assert await other_client.cache.load(scope, epoch=EPOCH) == copy
    assert (copy.tokens, copy.count) == (40, 70)


async def test_appending_goes_on_from_what_was_filled(client: OpenSessions, scope: Scope) -> None:
    turns = turns_in_order(3)
    await begin(client, scope, cached(turns, count=70, total=700))

    appended = await append(client, scope, replace(a_turn("late"), id=turns[0].id))

    copy = await load_whole(client, scope)
    assert (appended.count, appended.tokens) == (71, 40)
    assert appended.turn_id > turns[-1].id
    assert [turn.content for turn in copy.turns] == ["turn 0", "turn 1", "turn 2", "late"]
    assert (copy.count, copy.tokens, copy.total_tokens) == (71, 40, 710)


async def test_without_a_whole_copy_nothing_is_appended_unless_it_is_said_after_which_turn(
    client: OpenSessions, scope: Scope
) -> None:
    assert await try_to_append(client, scope) is None
    token = await token_for(client, scope)
    assert await try_to_append(client, scope) is None

    assert await fill(client, scope, cached(()), token)

    assert (await load_whole(client, scope)).count == 0


async def test_a_turn_that_is_recorded_is_not_served_before_the_copy_is_filled(
    client: OpenSessions, scope: Scope
) -> None:
    turns = turns_in_order(2)

    appended = await append(client, scope, turns[1], after=turns[0].id)

    assert (appended.turn_id, appended.count, appended.tokens) == (turns[1].id, 0, 10)
    await begin(client, scope, cached(turns[:1]))
    assert await load_whole(client, scope) == cached(turns)


async def test_a_recorded_turn_sorts_after_what_the_table_holds_and_after_what_was_recorded(
    client: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    early, newest = turns_in_order(2)

    first = await append(client, scope, early, after=newest.id)
    second = await append(other_client, scope, early, after=newest.id)
    third = await append(client, scope, early, after="")

    assert first.turn_id == next_ulid(newest.id)
    assert second.turn_id == next_ulid(first.turn_id)
    assert third.turn_id == next_ulid(second.turn_id)


async def test_a_whole_copy_respects_what_a_turn_has_to_sort_after(client: OpenSessions, scope: Scope) -> None:
    early, newest = turns_in_order(2)
    await begin(client, scope)

    assert (await append(client, scope, early, after=newest.id)).turn_id == next_ulid(newest.id)
    assert (await load_whole(client, scope)).count == 1


async def test_what_is_no_id_cannot_be_sorted_after(client: OpenSessions, scope: Scope) -> None:
    with pytest.raises(InvalidRequestError, match="ULID"):
        await append(client, scope, after="turn 1")


async def test_an_operation_is_recognised_before_and_after_the_copy_is_filled(
    client: OpenSessions, scope: Scope
) -> None:
    turns = turns_in_order(2)
    first = await append(client, scope, turns[1], operation="once", after=turns[0].id)

    before = await try_to_append(client, scope, turns[1], operation="once")
    await begin(client, scope, cached(turns))
    afterwards = await append(client, scope, turns[1], operation="once")

    assert before == afterwards == replace(first, repeated=True)
    assert await load_whole(client, scope) == cached(turns)


async def test_a_copy_of_an_earlier_epoch_is_forgotten(client: OpenSessions, scope: Scope) -> None:
    await begin(client, scope, cached(turns_in_order(2)))
    before = await append(client, scope)

    assert await try_to_append(client, scope, epoch=EPOCH + 1) is None
    token = await token_for(client, scope, epoch=EPOCH + 1)
    assert await fill(client, scope, cached(()), token, epoch=EPOCH + 1)

    assert (await load_whole(client, scope, epoch=EPOCH + 1)).count == 0
    assert (await append(client, scope, epoch=EPOCH + 1)).turn_id > before.turn_id


async def test_whoever_has_missed_an_epoch_is_not_served_and_destroys_nothing(
    client: OpenSessions, scope: Scope
) -> None:
    copy = cached(turns_in_order(2))
    await begin(client, scope, copy, epoch=EPOCH + 1)

    assert await client.cache.load(scope, epoch=EPOCH) == CacheMiss("", may_be_filled=False)
    assert await try_to_append(client, scope, epoch=EPOCH) is None
    assert not await fill(client, scope, cached(()), "", epoch=EPOCH)

    assert await load_whole(client, scope, epoch=EPOCH + 1) == copy


async def test_a_turn_of_someone_who_has_missed_an_epoch_is_not_missing_from_the_copy(
    client: OpenSessions, scope: Scope
) -> None:
    await begin(client, scope, epoch=EPOCH + 1)

    appended = await append(client, scope, after="", epoch=EPOCH)

    copy = await load_whole(client, scope, epoch=EPOCH + 1)
    assert [turn.id for turn in copy.turns] == [appended.turn_id]


async def test_recording_in_a_new_epoch_begins_the_copy_anew(client: OpenSessions, scope: Scope) -> None:
    await begin(client, scope, cached(turns_in_order(3)))

    appended = await append(client, scope, after="", epoch=EPOCH + 1)
    await begin(client, scope, epoch=EPOCH + 1)

    copy = await load_whole(client, scope, epoch=EPOCH + 1)
    assert [turn.id for turn in copy.turns] == [appended.turn_id]
    assert copy.count == 1


async def test_a_copy_that_nobody_fills_records_so_many_turns_and_begins_anew(
    client: OpenSessions, scope: Scope
) -> None:
    token, small = await token_for(client, scope), Limits(turns=2)
    ids = [(await append(client, scope, after="", limits=small)).turn_id for _ in range(MAX_RECORDED_TURNS)]
    assert await token_for(client, scope) == token

    one_more = await append(client, scope, after="", limits=small)

    assert one_more.turn_id > ids[-1]
    assert not await fill(client, scope, cached(()), token)
    await begin(client, scope, cached((), count=MAX_RECORDED_TURNS))
    assert (await load_whole(client, scope)).count == MAX_RECORDED_TURNS + 1


async def test_a_dropped_session_is_gone_with_its_deadline(
    client: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    await begin(client, scope)
    await append(client, scope, operation="once")

    await other_client.cache.drop(scope)

    assert scope not in await client.deadlines.due(NOW.replace(year=2100), limit=100_000)
    assert isinstance(await client.cache.load(scope, epoch=EPOCH), CacheMiss)
    assert await try_to_append(client, scope, operation="once") is None


async def test_dropping_what_is_not_there_is_no_error(client: OpenSessions, scope: Scope) -> None:
    await client.cache.drop(scope)


async def test_hostile_ids_never_meet(client: OpenSessions, scope: Scope) -> None:
    scopes = [Scope(f"{scope.user_id}{user}", session) for user in HOSTILE for session in HOSTILE]
    for number, one in enumerate(scopes):
        await begin(client, one)
        await append(client, one, a_turn(f"of {number}"))

    for number, one in enumerate(scopes):
        copy = await load_whole(client, one)
        assert [turn.content for turn in copy.turns] == [f"of {number}"]
    due = await client.deadlines.due(NOW.replace(year=2100), limit=100_000)
    assert {one for one in due if one.user_id.startswith(scope.user_id)} == set(scopes)


async def test_closing_twice_is_harmless_and_nothing_is_answered_afterwards(
    session_stores: SessionStores, clock: FakeClock, scope: Scope
) -> None:
    memory = await session_stores.open(clock)
    await begin(memory, scope)

    await memory.close()
    await memory.close()

    with pytest.raises(CacheUnavailableError, match="closed"):
        await memory.cache.load(scope, epoch=EPOCH)
