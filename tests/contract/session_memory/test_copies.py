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
    SessionStore,
    a_turn,
    append,
    begin,
    copy_of,
    fill,
    served,
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
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    found = await session_memory.cache.load(scope, epoch=EPOCH)

    assert isinstance(found, CacheMiss)
    assert found.token
    assert found.may_be_filled
    assert await other_client.cache.load(scope, epoch=EPOCH) == found


async def test_a_new_session_begins_whole_when_it_is_filled_with_nothing(
    session_memory: OpenSessions, scope: Scope
) -> None:
    await begin(session_memory, scope)

    assert await session_memory.cache.load(scope, epoch=EPOCH) == CachedSession((), 0, 0, 0)


async def test_a_filled_copy_is_served_as_the_table_told_it(
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    turns = turns_in_order(5)
    copy = copy_of(turns[1:], count=70, total=700, summary="Ana wants é \ud800 refund", gap=turns[0].id)

    await begin(session_memory, scope, copy)

    assert await other_client.cache.load(scope, epoch=EPOCH) == copy
    assert (copy.tokens, copy.count) == (40, 70)


async def test_appending_goes_on_from_what_was_filled(session_memory: OpenSessions, scope: Scope) -> None:
    turns = turns_in_order(3)
    await begin(session_memory, scope, copy_of(turns, count=70, total=700))

    appended = await append(session_memory, scope, replace(a_turn("late"), id=turns[0].id))

    copy = await served(session_memory, scope)
    assert (appended.count, appended.tokens) == (71, 40)
    assert appended.turn_id > turns[-1].id
    assert [turn.content for turn in copy.turns] == ["turn 0", "turn 1", "turn 2", "late"]
    assert (copy.count, copy.tokens, copy.total_tokens) == (71, 40, 710)


async def test_without_a_whole_copy_nothing_is_appended_unless_it_is_said_after_which_turn(
    session_memory: OpenSessions, scope: Scope
) -> None:
    assert await try_to_append(session_memory, scope) is None
    token = await token_for(session_memory, scope)
    assert await try_to_append(session_memory, scope) is None

    assert await fill(session_memory, scope, copy_of(()), token)

    assert (await served(session_memory, scope)).count == 0


async def test_a_turn_that_is_recorded_is_not_served_before_the_copy_is_filled(
    session_memory: OpenSessions, scope: Scope
) -> None:
    turns = turns_in_order(2)

    appended = await append(session_memory, scope, turns[1], after=turns[0].id)

    assert (appended.turn_id, appended.count, appended.tokens) == (turns[1].id, 0, 10)
    await begin(session_memory, scope, copy_of(turns[:1]))
    assert await served(session_memory, scope) == copy_of(turns)


async def test_a_recorded_turn_sorts_after_what_the_table_holds_and_after_what_was_recorded(
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    early, newest = turns_in_order(2)

    first = await append(session_memory, scope, early, after=newest.id)
    second = await append(other_client, scope, early, after=newest.id)
    third = await append(session_memory, scope, early, after="")

    assert first.turn_id == next_ulid(newest.id)
    assert second.turn_id == next_ulid(first.turn_id)
    assert third.turn_id == next_ulid(second.turn_id)


async def test_a_whole_copy_respects_what_a_turn_has_to_sort_after(session_memory: OpenSessions, scope: Scope) -> None:
    early, newest = turns_in_order(2)
    await begin(session_memory, scope)

    assert (await append(session_memory, scope, early, after=newest.id)).turn_id == next_ulid(newest.id)
    assert (await served(session_memory, scope)).count == 1


async def test_what_is_no_id_cannot_be_sorted_after(session_memory: OpenSessions, scope: Scope) -> None:
    with pytest.raises(InvalidRequestError, match="ULID"):
        await append(session_memory, scope, after="turn 1")


async def test_an_operation_is_recognised_before_and_after_the_copy_is_filled(
    session_memory: OpenSessions, scope: Scope
) -> None:
    turns = turns_in_order(2)
    first = await append(session_memory, scope, turns[1], operation="once", after=turns[0].id)

    before = await try_to_append(session_memory, scope, turns[1], operation="once")
    await begin(session_memory, scope, copy_of(turns))
    afterwards = await append(session_memory, scope, turns[1], operation="once")

    assert before == afterwards == replace(first, repeated=True)
    assert await served(session_memory, scope) == copy_of(turns)


async def test_a_copy_of_an_earlier_epoch_is_forgotten(session_memory: OpenSessions, scope: Scope) -> None:
    await begin(session_memory, scope, copy_of(turns_in_order(2)))
    before = await append(session_memory, scope)

    assert await try_to_append(session_memory, scope, epoch=EPOCH + 1) is None
    token = await token_for(session_memory, scope, epoch=EPOCH + 1)
    assert await fill(session_memory, scope, copy_of(()), token, epoch=EPOCH + 1)

    assert (await served(session_memory, scope, epoch=EPOCH + 1)).count == 0
    assert (await append(session_memory, scope, epoch=EPOCH + 1)).turn_id > before.turn_id


async def test_whoever_has_missed_an_epoch_is_not_served_and_destroys_nothing(
    session_memory: OpenSessions, scope: Scope
) -> None:
    copy = copy_of(turns_in_order(2))
    await begin(session_memory, scope, copy, epoch=EPOCH + 1)

    assert await session_memory.cache.load(scope, epoch=EPOCH) == CacheMiss("", may_be_filled=False)
    assert await try_to_append(session_memory, scope, epoch=EPOCH) is None
    assert not await fill(session_memory, scope, copy_of(()), "", epoch=EPOCH)

    assert await served(session_memory, scope, epoch=EPOCH + 1) == copy


async def test_a_turn_of_someone_who_has_missed_an_epoch_is_not_missing_from_the_copy(
    session_memory: OpenSessions, scope: Scope
) -> None:
    await begin(session_memory, scope, epoch=EPOCH + 1)

    appended = await append(session_memory, scope, after="", epoch=EPOCH)

    copy = await served(session_memory, scope, epoch=EPOCH + 1)
    assert [turn.id for turn in copy.turns] == [appended.turn_id]


async def test_recording_in_a_new_epoch_begins_the_copy_anew(session_memory: OpenSessions, scope: Scope) -> None:
    await begin(session_memory, scope, copy_of(turns_in_order(3)))

    appended = await append(session_memory, scope, after="", epoch=EPOCH + 1)
    await begin(session_memory, scope, epoch=EPOCH + 1)

    copy = await served(session_memory, scope, epoch=EPOCH + 1)
    assert [turn.id for turn in copy.turns] == [appended.turn_id]
    assert copy.count == 1


async def test_a_copy_that_nobody_fills_records_so_many_turns_and_begins_anew(
    session_memory: OpenSessions, scope: Scope
) -> None:
    token, small = await token_for(session_memory, scope), Limits(turns=2)
    ids = [(await append(session_memory, scope, after="", limits=small)).turn_id for _ in range(MAX_RECORDED_TURNS)]
    assert await token_for(session_memory, scope) == token

    one_more = await append(session_memory, scope, after="", limits=small)

    assert one_more.turn_id > ids[-1]
    assert not await fill(session_memory, scope, copy_of(()), token)
    await begin(session_memory, scope, copy_of((), count=MAX_RECORDED_TURNS))
    assert (await served(session_memory, scope)).count == MAX_RECORDED_TURNS + 1


async def test_a_dropped_session_is_gone_with_its_state_and_its_deadline(
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    await begin(session_memory, scope)
    await append(session_memory, scope, operation="once")
    await session_memory.states.write(scope, {"step": 1}, expected_version=0)

    await other_client.cache.drop(scope)

    assert (await session_memory.states.read(scope)).version == 0
    assert scope not in await session_memory.deadlines.due(NOW.replace(year=2100), limit=100_000)
    assert isinstance(await session_memory.cache.load(scope, epoch=EPOCH), CacheMiss)
    assert await try_to_append(session_memory, scope, operation="once") is None


async def test_dropping_what_is_not_there_is_no_error(session_memory: OpenSessions, scope: Scope) -> None:
    await session_memory.cache.drop(scope)


async def test_hostile_ids_never_meet(session_memory: OpenSessions, scope: Scope) -> None:
    scopes = [Scope(f"{scope.user_id}{user}", session) for user in HOSTILE for session in HOSTILE]
    for number, one in enumerate(scopes):
        await begin(session_memory, one)
        await append(session_memory, one, a_turn(f"of {number}"))
        await session_memory.states.write(one, number, expected_version=0)

    for number, one in enumerate(scopes):
        copy = await served(session_memory, one)
        assert [turn.content for turn in copy.turns] == [f"of {number}"]
        assert (await session_memory.states.read(one)).value == number
    due = await session_memory.deadlines.due(NOW.replace(year=2100), limit=100_000)
    assert {one for one in due if one.user_id.startswith(scope.user_id)} == set(scopes)


async def test_closing_twice_is_harmless_and_nothing_is_answered_afterwards(
    session_store: SessionStore, clock: FakeClock, scope: Scope
) -> None:
    memory = await session_store.open(clock)
    await begin(memory, scope)

    await memory.close()
    await memory.close()

    with pytest.raises(CacheUnavailableError, match="closed"):
        await memory.cache.load(scope, epoch=EPOCH)
