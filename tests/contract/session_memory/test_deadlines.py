"""Deadlines: which sessions are due, in what order, and how tier and depth move them."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.limits import Tier, lifetime
from tests.stores.sessions import (
    EPOCH,
    NOW,
    OpenSessions,
    a_turn,
    append,
    begin,
    copy_of,
    new_scope,
    note,
    turns_in_order,
)

pytestmark = pytest.mark.anyio

EVERY = 100_000
MOMENT = timedelta(milliseconds=1)


async def is_due(memory: OpenSessions, scope: Scope, after: timedelta) -> bool:
    return scope in await memory.deadlines.due(NOW + after, limit=EVERY)


@pytest.mark.parametrize("tier", Tier)
@pytest.mark.parametrize("depth", [1, 4, 5, 7, 8, 9, 10, 30])
async def test_a_session_is_due_when_its_tier_and_depth_say_so(
    session_memory: OpenSessions, scope: Scope, tier: Tier, depth: int
) -> None:
    life = lifetime(tier, depth)
    await begin(session_memory, scope, copy_of(turns_in_order(1), count=depth - 1), tier=tier)

    await append(session_memory, scope, tier=tier)

    assert not await is_due(session_memory, scope, life - MOMENT)
    assert await is_due(session_memory, scope, life)


async def test_every_turn_moves_the_deadline(session_memory: OpenSessions, scope: Scope) -> None:
    await begin(session_memory, scope)
    await append(session_memory, scope, now=NOW)

    await append(session_memory, scope, a_turn(), now=NOW + timedelta(minutes=20))

    assert not await is_due(session_memory, scope, timedelta(minutes=50) - MOMENT)
    assert await is_due(session_memory, scope, timedelta(minutes=50))


async def test_a_repeat_does_not_move_the_deadline(session_memory: OpenSessions, scope: Scope) -> None:
    await begin(session_memory, scope)
    await append(session_memory, scope, operation="once", now=NOW)

    await append(session_memory, scope, operation="once", now=NOW + timedelta(minutes=20))

    assert await is_due(session_memory, scope, timedelta(minutes=30))


async def test_filling_gives_a_session_its_deadline(session_memory: OpenSessions, scope: Scope) -> None:
    await begin(session_memory, scope, copy_of(turns_in_order(2), count=10))

    assert not await is_due(session_memory, scope, timedelta(minutes=45) - MOMENT)
    assert await is_due(session_memory, scope, timedelta(minutes=45))


async def test_the_longest_overdue_comes_first_and_no_more_than_asked_for(session_memory: OpenSessions) -> None:
    long_ago = NOW - timedelta(days=30)  # nothing of another test is as late
    scopes = [new_scope() for _ in range(20)]
    for number, one in enumerate(scopes):
        await append(session_memory, one, after="", now=long_ago + timedelta(seconds=(number * 7) % 20))
    expected = [scopes[number] for number in sorted(range(20), key=lambda number: (number * 7) % 20)]

    due = await session_memory.deadlines.due(NOW - timedelta(days=29), limit=8)

    assert list(due) == expected[:8]
    for one in scopes:
        await session_memory.cache.drop(one)


async def test_a_due_session_stays_due_until_it_is_dropped(session_memory: OpenSessions, scope: Scope) -> None:
    await append(session_memory, scope, after="")

    assert await is_due(session_memory, scope, timedelta(hours=3))
    assert await is_due(session_memory, scope, timedelta(hours=3))
    await session_memory.cache.drop(scope)

    assert not await is_due(session_memory, scope, timedelta(hours=3))


async def test_a_session_that_is_due_may_go_on(session_memory: OpenSessions, scope: Scope) -> None:
    await append(session_memory, scope, after="")

    await append(session_memory, scope, after="", now=NOW + timedelta(hours=1))

    assert not await is_due(session_memory, scope, timedelta(hours=1))


async def test_what_joins_a_copy_counts_for_its_depth(session_memory: OpenSessions, scope: Scope) -> None:
    turns = turns_in_order(10)
    await append(session_memory, scope, turns[9], after=turns[8].id)

    await begin(session_memory, scope, copy_of(turns[:9]))

    assert not await is_due(session_memory, scope, lifetime(Tier.STANDARD, 10) - MOMENT)
    assert await is_due(session_memory, scope, lifetime(Tier.STANDARD, 10))


async def test_a_copy_that_was_only_asked_for_has_no_deadline(session_memory: OpenSessions, scope: Scope) -> None:
    await session_memory.cache.load(scope, epoch=EPOCH)

    assert not await is_due(session_memory, scope, timedelta(days=1))


async def test_a_noted_turn_moves_the_deadline(session_memory: OpenSessions, scope: Scope) -> None:
    await begin(session_memory, scope)

    await note(session_memory, scope, a_turn(), now=NOW + timedelta(minutes=20))

    assert not await is_due(session_memory, scope, timedelta(minutes=50) - MOMENT)
    assert await is_due(session_memory, scope, timedelta(minutes=50))
