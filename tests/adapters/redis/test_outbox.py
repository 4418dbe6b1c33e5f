"""What is true of the outbox in Redis only: appending fills it, its clock is the server's, and it may be full."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis

from mcp_memory_server.adapters.redis.keys import keys_of
from mcp_memory_server.adapters.redis.outbox import RedisOutbox, open_redis_outbox
from mcp_memory_server.adapters.redis.sessions import RedisSessions, open_redis
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import Appended, CacheContext
from mcp_memory_server.domain.sessions.limits import Limits, Tier
from mcp_memory_server.domain.sessions.queued_turns import QueuedTurn, QueueLength
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import Turn
from mcp_memory_server.errors import UnavailableError
from tests.adapters.redis.test_session_stores import requests_seen
from tests.engines.servers import RedisServer
from tests.stores.outboxes import ANA, BEN, RedisOutboxStore, add_all, claim, queued, receipts, said
from tests.stores.sessions import (
    AT_ONCE,
    EPOCH,
    NOW,
    PATIENCE,
    a_turn,
    begin,
    load_whole,
    token_for,
    turns_in_order,
)

pytestmark = pytest.mark.anyio

MOMENT = timedelta(milliseconds=1)


@pytest.fixture(params=["redis", "redis-cluster"])
def url(request: pytest.FixtureRequest) -> str:
    is_cluster = request.param == "redis-cluster"
    url = request.getfixturevalue("redis_cluster_url") if is_cluster else request.getfixturevalue("shared_redis").url
    RedisOutboxStore(url).empty()
    return url


@pytest.fixture
async def memory(url: str) -> AsyncIterator[RedisSessions]:
    memory = open_redis(url, deadline=PATIENCE, settling=AT_ONCE)
    yield memory
    await memory.close()


@pytest.fixture
def outbox(memory: RedisSessions) -> RedisOutbox:
    return RedisOutbox.of(memory)


@pytest.fixture
async def own_outbox(own_redis: RedisServer) -> AsyncIterator[RedisOutbox]:
    outbox = open_redis_outbox(own_redis.url, deadline=PATIENCE)
    yield outbox
    await outbox.close()


@pytest.fixture
def redis(shared_redis: RedisServer) -> Iterator[Any]:
    RedisOutboxStore(shared_redis.url).empty()
    with Redis(port=shared_redis.port, decode_responses=True) as client:
        client.ping()
        yield client


async def append_and_enqueue(
    memory: RedisSessions, scope: Scope, turn: Turn, *, operation: str, after: str | None = None
) -> Appended | None:
    context = CacheContext(Tier.STANDARD, Limits(), NOW, EPOCH)
    return await memory.cache.append(TurnWrite(scope, turn, operation), context, after=after, enqueue=True)


async def test_a_turn_is_appended_and_queued_under_the_same_id(
    memory: RedisSessions, outbox: RedisOutbox, scope: Scope
) -> None:
    await begin(memory, scope)
    turn = a_turn("hello 🦊")

    first = await append_and_enqueue(memory, scope, turn, operation="first")
    second = await append_and_enqueue(memory, scope, turn, operation="second")

    assert first is not None
    assert second is not None
    assert second.turn_id > first.turn_id == turn.id
    raised = replace(turn, id=second.turn_id)
    assert list(await outbox.waiting(scope)) == [
        QueuedTurn(scope, turn, "first", NOW, counted_in=first.token),
        QueuedTurn(scope, raised, "second", NOW, counted_in=second.token),
    ]
    assert (await load_whole(memory, scope)).turns == (turn, raised)


async def test_what_is_not_appended_is_not_queued_and_a_repeat_is_queued_once(
    memory: RedisSessions, outbox: RedisOutbox, scope: Scope
) -> None:
    assert await append_and_enqueue(memory, scope, a_turn(), operation="once") is None
    assert list(await outbox.waiting(scope)) == []
    first = await append_and_enqueue(memory, scope, a_turn(), operation="once", after="")

    assert first is not None
    assert await append_and_enqueue(memory, scope, a_turn(), operation="once") == replace(first, repeated=True)

    assert len(await outbox.waiting(scope)) == 1


async def test_a_turn_that_waits_is_recognised_after_its_copy_was_lost(
    memory: RedisSessions, outbox: RedisOutbox, scope: Scope
) -> None:
    await begin(memory, scope)
    first = await append_and_enqueue(memory, scope, a_turn(), operation="once")
    await memory.cache.drop(scope)

    for after in (None, ""):
        again = await append_and_enqueue(memory, scope, a_turn(), operation="once", after=after)
        assert first is not None
        assert again is not None
        assert (again.repeated, again.turn_id) == (True, first.turn_id)

    assert len(await outbox.waiting(scope)) == 1
    assert await token_for(memory, scope)


async def test_a_turn_sorts_after_those_that_wait_although_the_table_does_not_have_them_yet(
    memory: RedisSessions, outbox: RedisOutbox, scope: Scope
) -> None:
    early, late = turns_in_order(2)
    await append_and_enqueue(memory, scope, late, operation="first", after="")
    await memory.cache.drop(scope)

    second = await append_and_enqueue(memory, scope, early, operation="second", after="")

    assert second is not None
    assert second.turn_id > late.id
    assert [one.turn.id for one in await outbox.waiting(scope)] == [late.id, second.turn_id]


async def test_the_lease_of_an_owner_that_died_ends_by_the_clock_of_the_server(outbox: RedisOutbox) -> None:
    await add_all(outbox, ANA, "1", "2")
    assert said(await claim(outbox, "one", lease=timedelta(milliseconds=200))) == ["1", "2"]
    assert said(await claim(outbox, "one", lease=timedelta(milliseconds=200))) == ["1", "2"]

    async with asyncio.timeout(PATIENCE.total_seconds()):
        while not (claimed := await claim(outbox, "two")):
            pass

    assert said(claimed) == ["1", "2"]
    assert said(await claim(outbox, "one")) == []


async def test_a_pause_ends_by_the_clock_of_the_server(outbox: RedisOutbox) -> None:
    await add_all(outbox, ANA, "1")
    (only,) = await claim(outbox, "one")

    await outbox.put_off("one", only.receipt, timedelta(hours=1))
    assert said(await claim(outbox, "one")) == []
    await outbox.put_off("one", only.receipt, MOMENT)

    async with asyncio.timeout(PATIENCE.total_seconds()):
        while not (claimed := await claim(outbox, "one")):
            pass
    assert [one.attempts for one in claimed] == [2]


async def test_what_an_owner_has_not_removed_yet_of_a_session_stays_with_it(outbox: RedisOutbox) -> None:
    await add_all(outbox, ANA, "1", "2", "3")
    first, second, _ = await claim(outbox, "one")

    await outbox.remove("one", [first.receipt])
    await outbox.put_off("one", second.receipt, timedelta(0))

    assert said(await claim(outbox, "two")) == []
    assert said(await claim(outbox, "one")) == ["2", "3"]


async def test_a_long_queue_is_given_out_whole_with_every_session_in_order(outbox: RedisOutbox) -> None:
    for number in range(600):
        await outbox.add(queued(f"{number // 100}", Scope("ana", f"{number % 100}")))
    delivered: dict[Scope, str] = {}

    while claimed := await claim(outbox, "one", most=50):
        for one in claimed:
            delivered[one.queued.scope] = delivered.get(one.queued.scope, "") + one.queued.turn.content
        await outbox.remove("one", receipts(claimed))

    assert list(delivered.values()) == ["012345"] * 100
    assert await outbox.length() == QueueLength(0)


async def test_nothing_is_left_behind_when_everything_was_removed(redis: Any, shared_redis: RedisServer) -> None:
    outbox = open_redis_outbox(shared_redis.url, deadline=PATIENCE)
    await add_all(outbox, ANA, "1", "2", "3")
    first, second, _ = await claim(outbox, "one")
    await outbox.put_off("one", second.receipt, MOMENT)
    await outbox.remove("one", [first.receipt, second.receipt])
    await outbox.erase("ana")
    await outbox.close()

    assert [key for key in keys_of(ANA).outbox if redis.exists(key)] == []


async def test_asking_and_appending_are_one_round_trip_and_claiming_is_one_where_nothing_waits(
    redis: Any, shared_redis: RedisServer, scope: Scope
) -> None:
    memory = open_redis(shared_redis.url, deadline=PATIENCE, settling=AT_ONCE)
    outbox = RedisOutbox.of(memory)

    async def all_of_them() -> None:
        await append_and_enqueue(memory, scope, a_turn(), operation="once", after="")
        await outbox.waiting(scope)
        await outbox.erase(scope.user_id)

    await all_of_them()
    await memory.cache.drop(scope)
    with requests_seen(redis) as seen:
        await all_of_them()
    with requests_seen(redis) as seen_when_empty:
        await claim(outbox, "one")
    await memory.close()

    assert seen == ["EVALSHA"] * (2 + 64)
    assert seen_when_empty == ["ZCARD"] * 64


async def test_scripts_that_the_server_forgot_are_sent_again(redis: Any, shared_redis: RedisServer) -> None:
    outbox = open_redis_outbox(shared_redis.url, deadline=PATIENCE)
    await add_all(outbox, ANA, "1")
    redis.script_flush()

    claimed = await claim(outbox, "one")
    redis.script_flush()
    await outbox.remove("one", receipts(claimed))

    assert (await outbox.length()).turns == 0
    await outbox.close()


async def test_a_turn_that_cannot_be_read_is_reported_and_holds_up_its_session_only(
    redis: Any, shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    outbox = open_redis_outbox(shared_redis.url, deadline=PATIENCE)
    await add_all(outbox, ANA, "first", "the secret", "third")
    await add_all(outbox, BEN, "another's")
    change = "local turn = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1])) turn[4] = '{}'"
    damaged = redis.zrange(keys_of(ANA).outbox[2], 0, -1)[1]
    redis.eval(
        f"{change} redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack(turn))", 1, keys_of(ANA).outbox[0], damaged
    )

    assert said(await claim(outbox, "one")) == ["first", "another's"]
    assert said(await claim(outbox, "one")) == ["first", "another's"]

    assert len(caplog.records) == 1
    assert "secret" not in caplog.text
    with pytest.raises(UnavailableError, match="cannot be read"):
        await outbox.waiting(ANA)
    assert (await outbox.length()).turns == 4
    await outbox.close()


async def test_what_waits_is_there_after_a_restart_if_the_server_keeps_it(
    own_redis: RedisServer, own_outbox: RedisOutbox
) -> None:
    added = await add_all(own_outbox, ANA, "1", "2")
    await claim(own_outbox, "one")
    with Redis(port=own_redis.port) as redis:
        redis.save()
    own_redis.kill()
    with pytest.raises(UnavailableError):
        await own_outbox.waiting(ANA)
    own_redis.start()

    assert list(await own_outbox.waiting(ANA)) == added
    assert said(await claim(own_outbox, "two")) == []
    assert said(await claim(own_outbox, "one")) == ["1", "2"]


async def test_a_full_server_takes_nothing_more_and_gives_out_what_it_has(
    own_redis: RedisServer, own_outbox: RedisOutbox
) -> None:
    await add_all(own_outbox, ANA, "1", "2")
    with Redis(port=own_redis.port) as redis:
        redis.config_set("maxmemory", 1)

        with pytest.raises(UnavailableError):
            await own_outbox.add(queued("3"))
        claimed = await claim(own_outbox, "one")
        await own_outbox.put_off("one", claimed[1].receipt, timedelta(0))
        await own_outbox.release("one")
        again = await claim(own_outbox, "two")
        await own_outbox.remove("two", receipts(again))

    assert said(claimed) == said(again) == ["1", "2"]
    assert (await own_outbox.length()).turns == 0


async def test_a_hung_server_is_unavailable_within_the_deadline(own_redis: RedisServer) -> None:
    outbox = open_redis_outbox(own_redis.url, deadline=timedelta(milliseconds=100))
    own_redis.freeze()

    for call in (outbox.add(queued()), outbox.waiting(ANA), claim(outbox, "one"), outbox.length()):
        with pytest.raises(UnavailableError):
            await call

    own_redis.thaw()
    await outbox.close()


async def test_the_outbox_beside_a_session_cache_is_closed_with_it(
    memory: RedisSessions, outbox: RedisOutbox, scope: Scope
) -> None:
    await outbox.close()
    await begin(memory, scope)
    assert list(await outbox.waiting(scope)) == []

    await memory.close()

    with pytest.raises(UnavailableError, match="closed"):
        await outbox.waiting(scope)
