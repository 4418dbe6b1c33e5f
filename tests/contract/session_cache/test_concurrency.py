"""Many writers at once, from several clients, threads and event loops."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import Appended, CacheMiss
from mcp_memory_server.domain.sessions.limits import Limits
from tests.clock import FakeClock
from tests.stores.sessions import (
    EPOCH,
    OpenSessions,
    SessionStores,
    a_turn,
    append,
    begin,
    cached,
    fill,
    listening,
    load_whole,
    new_scope,
    try_to_append,
    turns_in_order,
)

pytestmark = pytest.mark.anyio

WRITERS = 200


async def test_two_hundred_appends_at_once_are_all_counted_and_stay_within_the_budget(
    session_stores: SessionStores, clock: FakeClock, scope: Scope
) -> None:
    clients = [await session_stores.open(clock) for _ in range(4)]
    await begin(clients[0], scope)
    turn, limits = a_turn(tokens=300), Limits(tokens=3000, turns=20)

    async def run(number: int) -> list[Appended]:
        client = clients[number]
        mine = range(number, WRITERS, len(clients))
        return await asyncio.gather(*(append(client, scope, turn, operation=f"o-{one}", limits=limits) for one in mine))

    with ThreadPoolExecutor(len(clients)) as threads:
        running = [threads.submit(asyncio.run, run(number)) for number in range(len(clients))]
        answers = [answer for one in running for answer in await asyncio.wrap_future(one)]

    copy = await load_whole(clients[0], scope)
    assert sorted(answer.count for answer in answers) == list(range(1, WRITERS + 1))
    assert len({answer.turn_id for answer in answers}) == WRITERS
    assert [answer.turn_id for answer in sorted(answers, key=lambda answer: answer.count)] == sorted(
        answer.turn_id for answer in answers
    )
    assert max(answer.tokens for answer in answers) <= limits.tokens
    assert (copy.count, copy.tokens, len(copy.turns)) == (WRITERS, 3000, 10)
    gone = [turn.id for answer in answers for turn in answer.trimmed]
    assert sorted(gone + [turn.id for turn in copy.turns]) == sorted(answer.turn_id for answer in answers)
    for client in clients:
        await client.close()


async def test_one_operation_sent_by_many_at_once_is_one_turn(
    client: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    await begin(client, scope)

    answers = await asyncio.gather(*(append(client, scope, operation="once") for client in (client, other_client) * 10))

    copy = await load_whole(client, scope)
    assert len(copy.turns) == 1
    assert [answer.repeated for answer in answers].count(False) == 1
    assert len({answer.turn_id for answer in answers}) == 1


async def test_fillers_that_race_with_writers_never_leave_a_whole_copy_that_misses_a_turn_or_counts_one_twice(
    client: OpenSessions, other_client: OpenSessions
) -> None:
    async def race() -> None:
        scope, turns = new_scope(), turns_in_order(6)
        table = turns[:2]

        async def write() -> None:
            for turn in turns[2:]:
                if await try_to_append(client, scope, turn) is None:
                    await append(client, scope, turn, after=table[-1].id)
                table.append(turn)

        async def load_and_fill() -> None:
            found = await other_client.cache.load(scope, epoch=EPOCH)
            if isinstance(found, CacheMiss):
                assert await fill(other_client, scope, cached(list(table)), found.token)

        await asyncio.gather(write(), *(load_and_fill() for _ in range(3)))
        assert await load_whole(client, scope) == cached(turns)

    await asyncio.gather(*(race() for _ in range(30)))


def test_one_memory_may_be_used_from_one_event_loop_after_another(
    session_stores: SessionStores, clock: FakeClock, scope: Scope
) -> None:
    memory = asyncio.run(session_stores.open(clock))

    async def use() -> None:
        await append(memory, scope)
        async with listening(memory.channel, scope) as changes:
            await anext(changes)
            await memory.channel.announce(scope)
            await anext(changes)

    asyncio.run(begin(memory, scope))
    for _ in range(4):
        asyncio.run(use())
    copy = asyncio.run(load_whole(memory, scope))
    asyncio.run(memory.close())

    assert copy.count == 4


def test_one_memory_may_be_used_from_several_event_loops_at_once(
    session_stores: SessionStores, clock: FakeClock, scope: Scope
) -> None:
    memory = asyncio.run(session_stores.open(clock))
    asyncio.run(begin(memory, scope))

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: asyncio.run(append(memory, scope)), range(40)))
    asyncio.run(memory.close())

    assert sorted(answer.count for answer in answers) == list(range(1, 41))
