"""A Redis that hangs, dies, forgets, is full or loses replies: no answer is wrong, and none takes long."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from redis import Redis

from mcp_memory_server.adapters.redis.session_memory import RedisSessionMemory, open_redis
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.session_copies import SessionCopy
from mcp_memory_server.domain.sessions import Tier
from mcp_memory_server.errors import CacheUnavailableError
from tests.contract.session_stores import NOW, PATIENCE, a_turn, append, begin, new_scope, turns_in_order, watching
from tests.engines.servers import RedisServer, redis_server
from tests.engines.tcp_proxy import TcpProxy

pytestmark = pytest.mark.anyio

DEADLINE = timedelta(milliseconds=250)
SOON = 5.0
"""Seconds. The client library by itself would take longer than this; our deadline is a twentieth of it."""


@pytest.fixture
async def memory(own_redis: RedisServer) -> AsyncIterator[RedisSessionMemory]:
    memory = open_redis(own_redis.url, deadline=PATIENCE)
    yield memory
    await memory.close()


async def test_a_hung_server_is_unavailable_within_the_deadline_however_many_ask(
    own_redis: RedisServer, scope: Scope
) -> None:
    memory = open_redis(own_redis.url, deadline=DEADLINE)
    own_redis.freeze()
    begun = time.monotonic()

    answers = await asyncio.gather(*(append(memory, scope) for _ in range(100)), return_exceptions=True)

    took = time.monotonic() - begun
    own_redis.thaw()
    await memory.close()
    assert {type(answer) for answer in answers} == {CacheUnavailableError}
    assert took < SOON


async def test_a_hung_server_does_not_hold_up_the_event_loop(own_redis: RedisServer, scope: Scope) -> None:
    memory = open_redis(own_redis.url, deadline=DEADLINE)
    own_redis.freeze()
    waiting = asyncio.create_task(append(memory, scope))
    turns_of_the_loop = 0

    while not waiting.done():
        await asyncio.sleep(0.001)
        turns_of_the_loop += 1

    own_redis.thaw()
    await memory.close()
    assert isinstance(waiting.exception(), CacheUnavailableError)
    assert turns_of_the_loop > 10


async def test_what_was_sent_to_a_hung_server_is_recognised_when_it_is_sent_again(
    own_redis: RedisServer, memory: RedisSessionMemory, scope: Scope
) -> None:
    await begin(memory, scope)
    hasty = open_redis(own_redis.url, deadline=DEADLINE)
    own_redis.freeze()
    with pytest.raises(CacheUnavailableError):
        await append(hasty, scope, operation="once")
    own_redis.thaw()

    await append(memory, scope, operation="once")
    await append(memory, scope, operation="once")

    copy = await memory.load(scope)
    await hasty.close()
    assert copy is not None
    assert (len(copy.turns), copy.count) == (1, 1)


async def test_a_lost_reply_and_the_same_operation_again_are_one_turn(own_redis: RedisServer, scope: Scope) -> None:
    async with TcpProxy(own_redis.port) as proxy:
        memory = open_redis(f"redis://127.0.0.1:{proxy.port}", deadline=PATIENCE)
        await begin(memory, scope)
        await append(memory, scope)
        turn = a_turn("once")
        proxy.lose_next_reply = True

        with pytest.raises(CacheUnavailableError):
            await append(memory, scope, turn, operation="once")
        again = await append(memory, scope, turn, operation="once")

        copy = await memory.load(scope)
        await memory.close()
    assert proxy.lost == 1
    assert again.repeated
    assert copy is not None
    assert [one.content for one in copy.turns] == ["hello", "once"]
    assert copy.count == 2


async def test_a_killed_server_is_unavailable_and_is_found_again_when_it_is_back(
    own_redis: RedisServer, memory: RedisSessionMemory, scope: Scope
) -> None:
    await begin(memory, scope)
    own_redis.kill()
    for call in (memory.load(scope), append(memory, scope), memory.drop(scope), memory.due(NOW, limit=1)):
        with pytest.raises(CacheUnavailableError):
            await call

    own_redis.start()

    await begin(memory, scope)
    assert (await append(memory, scope)).count == 1


async def test_after_a_restart_with_nothing_no_copy_is_served_until_it_is_filled(
    own_redis: RedisServer, memory: RedisSessionMemory, scope: Scope
) -> None:
    turns = turns_in_order(3)
    await memory.fill(scope, turns[:2], count=2, tier=Tier.STANDARD, now=NOW)
    own_redis.kill()
    own_redis.start()

    assert await memory.load(scope) is None
    await append(memory, scope, turns[2])
    assert await memory.load(scope) is None
    assert not await memory.fill(scope, turns[:2], count=2, tier=Tier.STANDARD, now=NOW)
    assert await memory.fill(scope, turns, count=3, tier=Tier.STANDARD, now=NOW)

    assert await memory.load(scope) == SessionCopy(tuple(turns), 3, 30)


async def test_after_a_restart_from_an_old_snapshot_no_copy_is_served_until_it_is_filled(
    own_redis: RedisServer, memory: RedisSessionMemory, scope: Scope
) -> None:
    turns = turns_in_order(3)
    await memory.fill(scope, turns[:2], count=2, tier=Tier.STANDARD, now=NOW)
    with Redis(port=own_redis.port) as redis:
        redis.save()
    await append(memory, scope, turns[2])
    own_redis.kill()
    own_redis.start()

    assert await memory.load(scope) is None
    assert await memory.fill(scope, turns, count=3, tier=Tier.STANDARD, now=NOW)

    assert await memory.load(scope) == SessionCopy(tuple(turns), 3, 30)


async def test_a_promoted_replica_which_may_lack_the_last_turns_serves_no_copy_until_it_is_filled(
    own_redis: RedisServer, memory: RedisSessionMemory, scope: Scope, tmp_path: Path
) -> None:
    turns = turns_in_order(2)
    (tmp_path / "replica").mkdir()
    with redis_server(tmp_path / "replica", "--replicaof", "127.0.0.1", str(own_redis.port)) as replica:
        await memory.fill(scope, turns, count=2, tier=Tier.STANDARD, now=NOW)
        with Redis(port=own_redis.port, socket_timeout=30) as redis:
            assert redis.wait(1, 20_000) == 1
        with Redis(port=replica.port) as redis:
            redis.replicaof("NO", "ONE")
        promoted = open_redis(replica.url, deadline=PATIENCE)

        assert await promoted.load(scope) is None
        await append(promoted, scope)
        assert await promoted.load(scope) is None
        await promoted.close()


async def test_a_full_server_refuses_a_turn_changes_nothing_and_still_lets_go(
    own_redis: RedisServer, memory: RedisSessionMemory, scope: Scope
) -> None:
    (turn,) = turns_in_order(1)
    await memory.fill(scope, [turn], count=1, tier=Tier.STANDARD, now=NOW)
    before = await memory.load(scope)
    with Redis(port=own_redis.port) as redis:
        redis.config_set("maxmemory", 1)

        with pytest.raises(CacheUnavailableError):
            await append(memory, scope)
        with pytest.raises(CacheUnavailableError):
            await begin(memory, new_scope())
        with pytest.raises(CacheUnavailableError):
            await memory.write_state(scope, "x", expected_version=0)
        assert await memory.load(scope) == before
        await memory.drop(scope)
        assert await memory.load(scope) is None

        redis.config_set("maxmemory", 0)
    assert (await append(memory, scope)).count == 1


async def test_a_watcher_survives_a_restart_of_the_server(
    own_redis: RedisServer, memory: RedisSessionMemory, scope: Scope
) -> None:
    await memory.write_state(scope, "before", expected_version=0)
    async with watching(memory, scope) as versions:
        assert await asyncio.wait_for(anext(versions), 30) == 1
        waiting = asyncio.create_task(anext(versions))
        own_redis.kill()
        own_redis.start()
        await memory.write_state(scope, "after", expected_version=0)

        seen = await asyncio.wait_for(waiting, 30)
        while seen != 1:
            seen = await asyncio.wait_for(anext(versions), 30)

    assert (await memory.read_state(scope)).value == "after"


async def test_a_watcher_finds_the_server_when_it_comes_up_later(own_redis: RedisServer, scope: Scope) -> None:
    own_redis.kill()
    memory = open_redis(own_redis.url, deadline=PATIENCE)
    async with watching(memory, scope) as versions:
        waiting = asyncio.create_task(anext(versions))
        own_redis.start()
        await memory.write_state(scope, "x", expected_version=0)

        seen = await asyncio.wait_for(waiting, 30)
        while seen != 1:
            seen = await asyncio.wait_for(anext(versions), 30)
    await memory.close()


async def test_closing_does_not_wait_for_a_hung_server(own_redis: RedisServer, scope: Scope) -> None:
    memory = open_redis(own_redis.url, deadline=DEADLINE)
    own_redis.freeze()
    waiting = asyncio.create_task(memory.load(scope))
    await asyncio.sleep(0)
    begun = time.monotonic()

    await memory.close()

    took = time.monotonic() - begun
    own_redis.thaw()
    with pytest.raises(CacheUnavailableError):
        await waiting
    assert took < SOON
