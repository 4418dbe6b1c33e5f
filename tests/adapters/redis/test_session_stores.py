"""What is true of Redis only: one round trip, real expiry, slots, addresses and secrets."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.crc import key_slot

from mcp_memory_server.adapters.redis.keys import BUCKETS, keys_of
from mcp_memory_server.adapters.redis.sessions import RedisSessions, open_redis
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.limits import Tier, lifetime
from mcp_memory_server.errors import CacheUnavailableError, ConfigurationError
from tests.engines.servers import RedisServer, redis_server
from tests.stores.sessions import (
    AT_ONCE,
    EPOCH,
    PATIENCE,
    a_turn,
    append,
    begin,
    cached,
    listening,
    load_whole,
    record_stored,
    try_to_append,
    turns_in_order,
)

pytestmark = pytest.mark.anyio

SECRET = "hunter2"


@pytest.fixture
async def memory(shared_redis: RedisServer) -> AsyncIterator[RedisSessions]:
    memory = open_redis(shared_redis.url, deadline=PATIENCE, settling=AT_ONCE)
    yield memory
    await memory.close()


@pytest.fixture
def redis(shared_redis: RedisServer) -> Iterator[Any]:
    with Redis(port=shared_redis.port, decode_responses=True) as client:
        client.ping()
        yield client


@contextmanager
def requests_seen(redis: Any) -> Iterator[list[str]]:
    """Collect what clients ask for while the block runs, not what scripts do inside."""
    seen: list[str] = []
    with Redis(port=redis.get_connection_kwargs()["port"], decode_responses=True) as other, other.monitor() as monitor:
        yield seen
        redis.echo("the end")
        commands: Any = monitor.listen()
        for command in commands:
            if command["command"] == "ECHO the end":
                break
            if command["client_type"] != "lua":
                seen.append(command["command"].split()[0])


async def test_append_load_fill_note_and_announce_are_one_round_trip_each(
    memory: RedisSessions, redis: Any, scope: Scope
) -> None:
    async def all_of_them() -> None:
        await begin(memory, scope)
        await append(memory, scope)
        await record_stored(memory, scope, a_turn())
        await memory.channel.announce(scope)

    await all_of_them()  # the server learns the scripts, and the client connects
    await memory.cache.drop(scope)
    with requests_seen(redis) as seen:
        await all_of_them()

    assert seen == ["EVALSHA", "EVALSHA", "EVALSHA", "EVALSHA", "PUBLISH"]


async def test_scripts_that_the_server_forgot_are_sent_again(memory: RedisSessions, redis: Any, scope: Scope) -> None:
    await begin(memory, scope)
    redis.script_flush()

    assert (await append(memory, scope)).count == 1


@pytest.mark.parametrize("tier", Tier)
@pytest.mark.parametrize("depth", [1, 10])
async def test_a_session_lives_as_long_as_its_tier_and_depth_say(
    memory: RedisSessions, redis: Any, scope: Scope, tier: Tier, depth: int
) -> None:
    await begin(memory, scope, cached(turns_in_order(1), count=depth - 1), tier=tier)
    await append(memory, scope, tier=tier)

    left = timedelta(milliseconds=redis.pttl(keys_of(scope).session))

    assert lifetime(tier, depth) - timedelta(minutes=1) < left <= lifetime(tier, depth)


async def test_a_state_that_an_earlier_release_stored_there_goes_with_its_session(
    memory: RedisSessions, redis: Any, scope: Scope
) -> None:
    redis.hset(keys_of(scope).state, mapping={"version": 1, "value": "{}"})

    await memory.cache.drop(scope)

    assert not redis.exists(keys_of(scope).state)


async def test_a_copy_that_was_only_asked_for_lives_as_long_as_a_new_session(
    memory: RedisSessions, redis: Any, scope: Scope
) -> None:
    await memory.cache.load(scope, epoch=EPOCH)

    left = timedelta(milliseconds=redis.pttl(keys_of(scope).session))

    assert lifetime(Tier.STANDARD, 0) - timedelta(minutes=1) < left <= lifetime(Tier.STANDARD, 0)


async def test_an_evicted_session_is_gone_as_a_whole_and_can_be_filled_again(
    memory: RedisSessions, redis: Any, scope: Scope
) -> None:
    await begin(memory, scope)
    await append(memory, scope)
    redis.delete(keys_of(scope).session)

    assert await try_to_append(memory, scope) is None
    await begin(memory, scope, cached((), count=1))
    assert (await load_whole(memory, scope)).count == 1


async def test_a_copy_that_cannot_be_read_is_none_and_can_be_filled_again(
    memory: RedisSessions, redis: Any, scope: Scope
) -> None:
    (turn,) = turns_in_order(1)
    await begin(memory, scope, cached([turn]))
    redis.hset(keys_of(scope).session, f"turn:{turn.id}", '{"role":"oracle"}')

    await begin(memory, scope, cached([turn]))

    assert await load_whole(memory, scope) == cached([turn])


async def test_what_a_later_release_adds_to_a_turn_is_left_out(memory: RedisSessions, redis: Any, scope: Scope) -> None:
    (turn,) = turns_in_order(1)
    await begin(memory, scope, cached([turn]))
    redis.hset(keys_of(scope).session, f"turn:{turn.id}", '{"role":"user","content":"hi","mood":"fine"}')

    copy = await load_whole(memory, scope)

    assert copy.turns[0].content == "hi"


def test_what_one_script_touches_lies_in_one_slot_and_sessions_spread_over_all_buckets() -> None:
    keys = [keys_of(Scope(f"user {number}", "{session}")) for number in range(2000)]

    assert all(len({key_slot(key.encode()) for key in (*one.cached, *one.outbox)}) == 1 for one in keys)
    assert len({one.deadlines for one in keys}) == BUCKETS


@pytest.mark.parametrize(
    "url",
    ["", "redis://", "http://host", f"redis://:{SECRET}@host:port", f"redis://:{SECRET}@h/0?cluster=perhaps",
     f"unix://:{SECRET}@/tmp/socket", f"redis://:{SECRET}@h?socket_timeout=soon"],
)  # fmt: skip
def test_an_address_that_cannot_be_one_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError, match="rediss://") as refusal:
        open_redis(url)

    assert SECRET not in str(refusal.value)


async def test_opening_never_fails_and_never_waits(scope: Scope) -> None:
    memory = open_redis(f"redis://:{SECRET}@127.0.0.1:1/0")

    with pytest.raises(CacheUnavailableError, match=r"127\.0\.0\.1:1") as failure:
        await memory.cache.load(scope, epoch=EPOCH)
    await memory.close()

    assert SECRET not in f"{failure.value!r} {failure.value.__cause__!r}"


async def test_a_cluster_that_is_not_there_is_unavailable(scope: Scope) -> None:
    memory = open_redis("redis://127.0.0.1:1?cluster=true")

    with pytest.raises(CacheUnavailableError):
        await memory.cache.load(scope, epoch=EPOCH)
    await memory.close()


async def test_a_password_is_used_and_a_wrong_one_is_not_told(tmp_path: Path, scope: Scope) -> None:
    with redis_server(tmp_path, "--aclfile", _users(tmp_path)) as server:
        right = open_redis(f"redis://memory:{SECRET}%40@127.0.0.1:{server.port}", deadline=PATIENCE, settling=AT_ONCE)
        wrong = open_redis(f"redis://memory:{SECRET}@127.0.0.1:{server.port}", deadline=PATIENCE, settling=AT_ONCE)

        await begin(right, scope)
        async with listening(right.channel, scope) as changes:
            await asyncio.wait_for(anext(changes), 30)
            await right.channel.announce(scope)
            await asyncio.wait_for(anext(changes), 30)
        with pytest.raises(CacheUnavailableError) as failure:
            await wrong.cache.load(scope, epoch=EPOCH)
        await right.close()
        await wrong.close()

    assert SECRET not in f"{failure.value!r} {failure.value.__cause__!r}"


def _users(folder: Path) -> str:
    """Let anyone say PING, and the memory do everything with its own keys."""
    path = folder / "users.acl"
    path.write_text(
        "user default on nopass +ping\n"
        f"user memory on >{SECRET}@ ~{{mms:* resetchannels &mms:* +@all -@dangerous +info\n"
    )
    return str(path)
