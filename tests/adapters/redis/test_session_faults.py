"""A Redis that hangs, dies, forgets, is full or loses replies: no answer is wrong, and none takes long."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from redis import Redis

from mcp_memory_server.adapters.redis.sessions import RedisSessions, open_redis
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import CacheUnavailableError
from tests.engines.servers import RedisServer, redis_server
from tests.engines.tcp_proxy import TcpProxy
from tests.stores.sessions import (
    AT_ONCE,
    EPOCH,
    NOW,
    PATIENCE,
    a_turn,
    append,
    begin,
    cached,
    fill,
    listening,
    load_whole,
    new_scope,
    token_for,
    try_to_append,
    turns_in_order,
)

pytestmark = pytest.mark.anyio

DEADLINE = timedelta(milliseconds=250)
SOON = 5.0
"""Seconds. The client library by itself would take longer than this; our deadline is a twentieth of it."""


@pytest.fixture
async def memory(own_redis: RedisServer) -> AsyncIterator[RedisSessions]:
    memory = open_redis(own_redis.url, deadline=PATIENCE, settling=AT_ONCE)
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
    own_redis: RedisServer, memory: RedisSessions, scope: Scope
) -> None:
    await begin(memory, scope)
    hasty = open_redis(own_redis.url, deadline=DEADLINE)
    own_redis.freeze()
    with pytest.raises(CacheUnavailableError):
        await append(hasty, scope, operation="once")
    own_redis.thaw()

    await append(memory, scope, operation="once")
    await append(memory, scope, operation="once")

    copy = await load_whole(memory, scope)
    await hasty.close()
    assert (len(copy.turns), copy.count) == (1, 1)


async def test_a_lost_reply_and_the_same_operation_again_are_one_turn(own_redis: RedisServer, scope: Scope) -> None:
    async with TcpProxy(own_redis.port) as proxy:
        memory = open_redis(f"redis://127.0.0.1:{proxy.port}", deadline=PATIENCE, settling=AT_ONCE)
        await begin(memory, scope)
        await append(memory, scope)
        turn = a_turn("once")
        proxy.lose_next_reply = True

        with pytest.raises(CacheUnavailableError):
            await append(memory, scope, turn, operation="once")
        again = await append(memory, scope, turn, operation="once")

        copy = await load_whole(memory, scope)
        await memory.close()
    assert proxy.lost == 1
    assert again.repeated
    assert [one.content for one in copy.turns] == ["hello", "once"]
    assert copy.count == 2


async def test_a_killed_server_is_unavailable_and_is_found_again_when_it_is_back(
    own_redis: RedisServer, memory: RedisSessions, scope: Scope
) -> None:
    await begin(memory, scope)
    own_redis.kill()
    for call in (
        memory.cache.load(scope, epoch=EPOCH),
        append(memory, scope),
        memory.cache.drop(scope),
        memory.deadlines.due(NOW, limit=1),
    ):
        with pytest.raises(CacheUnavailableError):
            await call

    own_redis.start()

    await begin(memory, scope)
    assert (await append(memory, scope)).count == 1


async def test_after_a_restart_with_nothing_no_copy_is_served_until_it_is_filled(
    own_redis: RedisServer, memory: RedisSessions, scope: Scope
) -> None:
    turns = turns_in_order(3)
    token = await token_for(memory, scope)
    own_redis.kill()
    own_redis.start()

    assert not await fill(memory, scope, cached(turns), token)
    assert await try_to_append(memory, scope) is None
    await append(memory, scope, turns[2], after=turns[1].id)
    await begin(memory, scope, cached(turns[:2]))

    assert await load_whole(memory, scope) == cached(turns)


async def test_after_a_restart_from_an_old_snapshot_no_copy_is_served_until_it_is_filled(
    own_redis: RedisServer, memory: RedisSessions, scope: Scope
) -> None:
    turns = turns_in_order(3)
    await begin(memory, scope, cached(turns[:2]))
    with Redis(port=own_redis.port) as redis:
        redis.save()
    await append(memory, scope, turns[2])
    own_redis.kill()
    own_redis.start()

    assert await try_to_append(memory, scope) is None
    await begin(memory, scope, cached(turns))

    assert await load_whole(memory, scope) == cached(turns)


async def test_a_token_of_before_a_restart_from_a_snapshot_fills_nothing(
    own_redis: RedisServer, memory: RedisSessions, scope: Scope
) -> None:
    token = await token_for(memory, scope)
    with Redis(port=own_redis.port) as redis:
        redis.save()
    own_redis.kill()
    own_redis.start()

    assert not await fill(memory, scope, cached(()), token)
    assert await token_for(memory, scope) != token


async def test_a_promoted_replica_which_may_lack_the_last_turns_serves_no_copy_until_it_is_filled(
    own_redis: RedisServer, memory: RedisSessions, scope: Scope, tmp_path: Path
) -> None:
    (tmp_path / "replica").mkdir()
    with redis_server(tmp_path / "replica", "--replicaof", "127.0.0.1", str(own_redis.port)) as replica:
        await begin(memory, scope, cached(turns_in_order(2)))
        wait_for_the_replica(own_redis)
        promote(replica)
        promoted = open_redis(replica.url, deadline=PATIENCE, settling=AT_ONCE)

        assert await try_to_append(promoted, scope) is None
        assert await token_for(promoted, scope)
        await promoted.close()


async def test_a_server_that_was_away_and_is_promoted_again_does_not_serve_what_it_had_before(
    own_redis: RedisServer, memory: RedisSessions, scope: Scope, tmp_path: Path
) -> None:
    (tmp_path / "replica").mkdir()
    with redis_server(tmp_path / "replica", "--replicaof", "127.0.0.1", str(own_redis.port)) as replica:
        await begin(memory, scope)
        wait_for_the_replica(own_redis)
        promote(replica)
        with Redis(port=own_redis.port) as redis:
            redis.replicaof("127.0.0.1", str(replica.port))
        wait_for_the_replica(replica)
        promote(own_redis)

        assert await try_to_append(memory, scope) is None
        assert await token_for(memory, scope)


async def test_a_full_server_refuses_a_turn_changes_nothing_and_still_lets_go(
    own_redis: RedisServer, memory: RedisSessions, scope: Scope
) -> None:
    copy = cached(turns_in_order(1))
    await begin(memory, scope, copy)
    with Redis(port=own_redis.port) as redis:
        redis.config_set("maxmemory", 1)

        with pytest.raises(CacheUnavailableError):
            await append(memory, scope)
        with pytest.raises(CacheUnavailableError):
            await append(memory, scope, after="", epoch=EPOCH + 1)
        with pytest.raises(CacheUnavailableError):
            await memory.cache.load(scope, epoch=EPOCH + 1)
        with pytest.raises(CacheUnavailableError):
            await memory.cache.load(new_scope(), epoch=EPOCH)
        assert await load_whole(memory, scope) == copy
        await memory.cache.drop(scope)
        assert await try_to_append(memory, scope) is None

        redis.config_set("maxmemory", 0)
    await begin(memory, scope)
    assert (await append(memory, scope)).count == 1


def wait_for_the_replica(server: RedisServer) -> None:
    with Redis(port=server.port, socket_timeout=30) as redis:
        redis.set("the last write", 1)
        assert redis.wait(1, 20_000) == 1


def promote(server: RedisServer) -> None:
    with Redis(port=server.port) as redis:
        redis.replicaof("NO", "ONE")


async def test_a_listener_survives_a_restart_of_the_server_and_looks_again(
    own_redis: RedisServer, memory: RedisSessions, scope: Scope
) -> None:
    async with listening(memory.channel, scope) as changes:
        await asyncio.wait_for(anext(changes), 30)
        waiting = asyncio.create_task(anext(changes))
        own_redis.kill()
        own_redis.start()

        await asyncio.wait_for(waiting, 30)


async def test_a_listener_goes_on_looking_while_there_is_no_server(own_redis: RedisServer, scope: Scope) -> None:
    own_redis.kill()
    memory = open_redis(own_redis.url, deadline=PATIENCE, settling=AT_ONCE)
    async with listening(memory.channel, scope) as changes:
        for _ in range(3):
            await asyncio.wait_for(anext(changes), 30)
        own_redis.start()
        await memory.channel.announce(scope)

        await asyncio.wait_for(anext(changes), 30)
    await memory.close()


async def test_announcing_to_a_server_that_is_away_disturbs_nobody(own_redis: RedisServer, scope: Scope) -> None:
    memory = open_redis(own_redis.url)
    own_redis.kill()

    await memory.channel.announce(scope)

    await memory.close()


async def test_closing_does_not_wait_for_a_hung_server(own_redis: RedisServer, scope: Scope) -> None:
    memory = open_redis(own_redis.url, deadline=DEADLINE)
    own_redis.freeze()
    waiting = asyncio.create_task(memory.cache.load(scope, epoch=EPOCH))
    await asyncio.sleep(0)
    begun = time.monotonic()

    await memory.close()

    took = time.monotonic() - begun
    own_redis.thaw()
    with suppress(CacheUnavailableError):  # unless it answers in time after all
        await waiting
    assert took < SOON
