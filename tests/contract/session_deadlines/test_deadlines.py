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
    cached,
    new_scope,
    record_stored,
    turns_in_order,
)

pytestmark = pytest.mark.anyio

EVERY = 100_000
MOMENT = timedelta(milliseconds=1)
LATER = NOW + timedelta(hours=1)


async def is_due(memory: OpenSessions, scope: Scope, after: timedelta) -> bool:
    return scope in await memory.deadlines.due(NOW + after, limit=EVERY)


@pytest.mark.parametrize("tier", Tier)
@pytest.mark.parametrize("depth", [1, 4, 5, 7, 8, 9, 10, 30])
async def test_a_session_is_due_when_its_tier_and_depth_say_so(
    client: OpenSessions, scope: Scope, tier: Tier, depth: int
) -> None:
    life = lifetime(tier, depth)
    await begin(client, scope, cached(turns_in_order(1), count=depth - 1), tier=tier)

    await append(client, scope, tier=tier)

    assert not await is_due(client, scope, life - MOMENT)
    assert await is_due(client, scope, life)


async def test_every_turn_moves_the_deadline(client: OpenSessions, scope: Scope) -> None:
    await begin(client, scope)
    await append(client, scope, now=NOW)

    await append(client, scope, a_turn(), now=NOW + timedelta(minutes=20))

    assert not await is_due(client, scope, timedelta(minutes=50) - MOMENT)
    assert await is_due(client, scope, timedelta(minutes=50))


async def test_a_repeat_does_not_move_the_deadline(client: OpenSessions, scope: Scope) -> None:
    await begin(client, scope)
    await append(client, scope, operation="once", now=NOW)

    await append(client, scope, operation="once", now=NOW + timedelta(minutes=20))

    assert await is_due(client, scope, timedelta(minutes=30))


async def test_filling_gives_a_session_its_deadline(client: OpenSessions, scope: Scope) -> None:
    await begin(client, scope, cached(turns_in_order(2), count=10))

    assert not await is_due(client, scope, timedelta(minutes=45) - MOMENT)
    assert await is_due(client, scope, timedelta(minutes=45))


async def test_the_longest_overdue_comes_first_and_no_more_than_asked_for(client: OpenSessions) -> None:
    long_ago = NOW - timedelta(days=30)  # nothing of another test is as late
    scopes = [new_scope() for _ in range(20)]
    for number, one in enumerate(scopes):
        await append(client, one, after="", now=long_ago + timedelta(seconds=(number * 7) % 20))
    expected = [scopes[number] for number in sorted(range(20), key=lambda number: (number * 7) % 20)]

    due = await client.deadlines.due(NOW - timedelta(days=29), limit=8)

    assert list(due) == expected[:8]
    for one in scopes:
        await client.cache.drop(one)


async def test_a_due_session_stays_due_until_it_is_dropped(client: OpenSessions, scope: Scope) -> None:
    await append(client, scope, after="")

    assert await is_due(client, scope, timedelta(hours=3))
    assert await is_due(client, scope, timedelta(hours=3))
    await client.cache.drop(scope)

    assert not await is_due(client, scope, timedelta(hours=3))


async def test_a_session_that_is_due_may_go_on(client: OpenSessions, scope: Scope) -> None:
    await append(client, scope, after="")

    await append(client, scope, after="", now=NOW + timedelta(hours=1))

    assert not await is_due(client, scope, timedelta(hours=1))


async def test_what_joins_a_copy_counts_for_its_depth(client: OpenSessions, scope: Scope) -> None:
    turns = turns_in_order(10)
    await append(client, scope, turns[9], after=turns[8].id)

    await begin(client, scope, cached(turns[:9]))

    assert not await is_due(client, scope, lifetime(Tier.STANDARD, 10) - MOMENT)
    assert await is_due(client, scope, lifetime(Tier.STANDARD, 10))


async def test_a_copy_that_was_only_asked_for_has_no_deadline(client: OpenSessions, scope: Scope) -> None:
    await client.cache.load(scope, epoch=EPOCH)

    assert not await is_due(client, scope, timedelta(days=1))


async def test_a_noted_turn_moves_the_deadline(client: OpenSessions, scope: Scope) -> None:
    await begin(client, scope)

    await record_stored(client, scope, a_turn(), now=NOW + timedelta(minutes=20))

    assert not await is_due(client, scope, timedelta(minutes=50) - MOMENT)
    assert await is_due(client, scope, timedelta(minutes=50))


async def test_a_deadline_that_passed_is_settled(client: OpenSessions, scope: Scope) -> None:
    await begin(client, scope)
    await append(client, scope, now=NOW)

    await client.deadlines.settle(scope, LATER)

    assert scope not in await client.deadlines.due(LATER, limit=EVERY)


async def test_a_deadline_that_a_later_turn_moved_stays(client: OpenSessions, scope: Scope) -> None:
    await begin(client, scope)
    await append(client, scope, now=LATER)

    await client.deadlines.settle(scope, LATER)

    assert scope in await client.deadlines.due(LATER + timedelta(hours=1), limit=EVERY)
    await client.cache.drop(scope)


async def test_settling_what_is_not_there_is_no_error(client: OpenSessions, scope: Scope) -> None:
    await client.deadlines.settle(scope, LATER)
