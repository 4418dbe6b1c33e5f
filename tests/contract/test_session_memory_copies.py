"""A copy is served only when nothing is missing from it."""

from dataclasses import replace

import pytest

from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.session_copies import SessionCopy
from mcp_memory_server.domain.sessions import Limits, Tier
from mcp_memory_server.domain.turns import Turn
from mcp_memory_server.errors import CacheUnavailableError
from mcp_memory_server.ports.session_memory import SessionMemory
from tests.clock import FakeClock
from tests.contract.session_stores import NOW, SessionStore, a_turn, append, begin, turns_in_order

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


async def fill(memory: SessionMemory, scope: Scope, turns: list[Turn], *, count: int | None = None) -> bool:
    return await memory.fill(scope, turns, count=len(turns) if count is None else count, tier=Tier.STANDARD, now=NOW)


async def test_there_is_no_copy_at_first(session_memory: SessionMemory, scope: Scope) -> None:
    assert await session_memory.load(scope) is None


async def test_appending_without_a_copy_begins_one_that_is_not_served(
    session_memory: SessionMemory, scope: Scope
) -> None:
    await append(session_memory, scope)
    await append(session_memory, scope)

    assert await session_memory.load(scope) is None


async def test_a_new_session_begins_whole_when_it_is_filled_with_nothing(
    session_memory: SessionMemory, scope: Scope
) -> None:
    await begin(session_memory, scope)

    assert await session_memory.load(scope) == SessionCopy((), 0, 0)


async def test_a_filled_copy_is_served_oldest_first(
    session_memory: SessionMemory, other_client: SessionMemory, scope: Scope
) -> None:
    turns = turns_in_order(4)

    assert await fill(session_memory, scope, turns, count=70)

    assert await other_client.load(scope) == SessionCopy(tuple(turns), 70, 40)


async def test_appending_goes_on_from_what_was_filled(session_memory: SessionMemory, scope: Scope) -> None:
    turns = turns_in_order(3)
    await fill(session_memory, scope, turns, count=70)

    appended = await append(session_memory, scope, replace(a_turn("late"), id=turns[0].id))

    copy = await session_memory.load(scope)
    assert copy is not None
    assert (appended.count, appended.tokens) == (71, 40)
    assert appended.turn_id > turns[-1].id
    assert [turn.content for turn in copy.turns] == ["turn 0", "turn 1", "turn 2", "late"]


async def test_filling_with_what_was_appended_meanwhile_makes_the_copy_whole(
    session_memory: SessionMemory, scope: Scope
) -> None:
    turns = turns_in_order(5)
    await append(session_memory, scope, turns[3])
    await append(session_memory, scope, turns[4])

    assert await fill(session_memory, scope, turns)

    assert await session_memory.load(scope) == SessionCopy(tuple(turns), 5, 50)


async def test_filling_is_not_done_when_a_turn_was_appended_that_is_not_among_these(
    session_memory: SessionMemory, other_client: SessionMemory, scope: Scope
) -> None:
    turns = turns_in_order(3)
    await append(other_client, scope, turns[2])

    assert not await fill(session_memory, scope, turns[:2])
    assert not await fill(session_memory, scope, [])

    assert await session_memory.load(scope) is None


async def test_a_turn_that_one_writer_has_not_stored_yet_keeps_the_copy_from_being_filled(
    session_memory: SessionMemory, scope: Scope
) -> None:
    turns = turns_in_order(4)
    for turn in turns[1:]:
        await append(session_memory, scope, turn)

    assert not await fill(session_memory, scope, [turns[0], turns[1], turns[3]])


async def test_a_turn_that_made_way_already_must_be_among_those_that_fill(
    session_memory: SessionMemory, scope: Scope
) -> None:
    turns = turns_in_order(5)
    for turn in turns[1:]:
        await append(session_memory, scope, turn, limits=Limits(turns=2))

    assert not await fill(session_memory, scope, [turns[0], turns[1], turns[4]])
    assert await fill(session_memory, scope, turns)


async def test_what_is_older_than_those_that_fill_was_left_out_and_is_not_missing(
    session_memory: SessionMemory, scope: Scope
) -> None:
    turns = turns_in_order(30)
    for turn in turns[5:]:
        await append(session_memory, scope, turn)

    assert await fill(session_memory, scope, turns[10:], count=30)

    assert await session_memory.load(scope) == SessionCopy(tuple(turns[10:]), 30, 200)


async def test_a_late_filler_does_not_undo_what_was_appended_after_another_one(
    session_memory: SessionMemory, other_client: SessionMemory, scope: Scope
) -> None:
    turns = turns_in_order(3)
    await fill(session_memory, scope, turns[:2])
    await append(session_memory, scope, turns[2])

    assert not await fill(other_client, scope, turns[:2])

    copy = await session_memory.load(scope)
    assert copy is not None
    assert copy.turns == tuple(turns)


async def test_filling_twice_is_filling_once(session_memory: SessionMemory, scope: Scope) -> None:
    turns = turns_in_order(3)

    assert await fill(session_memory, scope, turns)
    assert await fill(session_memory, scope, turns)

    assert await session_memory.load(scope) == SessionCopy(tuple(turns), 3, 30)


async def test_a_repeat_is_recognised_after_filling(session_memory: SessionMemory, scope: Scope) -> None:
    turns = turns_in_order(2)
    await append(session_memory, scope, turns[1], operation="once")
    await fill(session_memory, scope, turns)

    assert (await append(session_memory, scope, turns[1], operation="once")).repeated

    assert await session_memory.load(scope) == SessionCopy(tuple(turns), 2, 20)


async def test_a_dropped_session_is_gone_with_its_state_and_its_deadline(
    session_memory: SessionMemory, other_client: SessionMemory, scope: Scope
) -> None:
    await begin(session_memory, scope)
    await append(session_memory, scope, operation="once")
    await session_memory.write_state(scope, {"step": 1}, expected_version=0)

    await other_client.drop(scope)

    assert await session_memory.load(scope) is None
    assert (await session_memory.read_state(scope)).version == 0
    assert scope not in await session_memory.due(NOW.replace(year=2100), limit=10_000)
    assert not (await append(session_memory, scope, operation="once")).repeated
    assert await session_memory.load(scope) is None


async def test_dropping_what_is_not_there_is_no_error(session_memory: SessionMemory, scope: Scope) -> None:
    await session_memory.drop(scope)


async def test_hostile_ids_never_meet(session_memory: SessionMemory, scope: Scope) -> None:
    scopes = [Scope(f"{scope.user_id}{user}", session) for user in HOSTILE for session in HOSTILE]
    for number, one in enumerate(scopes):
        await begin(session_memory, one)
        await append(session_memory, one, a_turn(f"of {number}"))
        await session_memory.write_state(one, number, expected_version=0)

    for number, one in enumerate(scopes):
        copy = await session_memory.load(one)
        assert copy is not None
        assert [turn.content for turn in copy.turns] == [f"of {number}"]
        assert (await session_memory.read_state(one)).value == number
    due = await session_memory.due(NOW.replace(year=2100), limit=100_000)
    assert {one for one in due if one.user_id.startswith(scope.user_id)} == set(scopes)


async def test_closing_twice_is_harmless_and_nothing_is_answered_afterwards(
    session_store: SessionStore, clock: FakeClock, scope: Scope
) -> None:
    memory = await session_store.open(clock)
    await begin(memory, scope)

    await memory.close()
    await memory.close()

    with pytest.raises(CacheUnavailableError, match="closed"):
        await memory.load(scope)
