"""Two halves of a network, each with a Redis that takes writes: what is loaded is right again within seconds."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import redis

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.schema.keys import COPIES_EPOCH
from mcp_memory_server.services.sessions.cache_epoch import DISCONNECTED_LASTS, LOOKED_AGAIN
from tests.clock import FakeClock
from tests.engines.servers import RedisServer, redis_server
from tests.engines.tcp_proxy import TcpProxy
from tests.services.sessions.test_running_sessions import Process, a_process

pytestmark = pytest.mark.anyio

CHAT = Scope("anna", "chat 1")
TURNS = 8


@pytest.fixture
def replica(own_redis: RedisServer, tmp_path: Path) -> Iterator[RedisServer]:
    """A replica of the Redis that is to be cut off."""
    folder = tmp_path / "replica"
    folder.mkdir()
    with redis_server(folder, "--replicaof", "127.0.0.1", str(own_redis.port)) as server:
        yield server


@pytest.fixture
async def way(own_redis: RedisServer) -> AsyncIterator[TcpProxy]:
    """The way of the other process to its Redis, which can lead elsewhere."""
    async with TcpProxy(own_redis.port) as proxy:
        yield proxy


def promote(replica: RedisServer) -> None:
    with redis.Redis(port=replica.port) as client:
        client.replicaof("NO", "ONE")


async def said(process: Process, *texts: str) -> None:
    for text in texts:
        await process.append(CHAT, NewTurn(Role.USER, text))


async def loaded(process: Process) -> list[str]:
    return [turn.content for turn in (await process.load(CHAT)).turns]


async def announced(process: Process) -> tuple[bool, bool]:
    """Return whether the table says that another server is used now, and that a process writes past the cache."""
    item = await process.table.get(COPIES_EPOCH)
    return bool(item.body.get("superseded")), any(name.startswith("away:") for name in item.body)


async def test_after_seconds_each_half_loads_what_the_other_said_and_after_healing_too(
    tmp_path: Path, own_redis: RedisServer, replica: RedisServer, way: TcpProxy, clock: FakeClock
) -> None:
    path = tmp_path / "memory.db"
    async with (
        a_process(path, own_redis.url, clock) as one,
        a_process(path, f"redis://127.0.0.1:{way.port}/0", clock) as other,
    ):
        await said(one, "before 1")
        await said(other, "before 2")
        assert await loaded(one) == await loaded(other) == ["before 1", "before 2"]

        promote(replica)
        way.lead_to(replica.port)
        for is_cut_off in (False, True):  # the other one is back, at the replica; then the first one finds itself alone
            while await announced(one) != (True, is_cut_off):
                clock.advance(LOOKED_AGAIN)
                await loaded(other)
                await loaded(one) if is_cut_off else None
                await asyncio.sleep(0.05)  # the workers notice and announce it
        during = [f"during {number}" for number in range(TURNS)]
        for number, text in enumerate(during):
            clock.advance(timedelta(milliseconds=10))
            await said(one if number % 2 else other, text)
            expected = ["before 1", "before 2", *during[: number + 1]]
            assert await loaded(one) == expected
            assert await loaded(other) == expected

        way.lead_to(own_redis.port)  # healed: the first one's Redis was right for itself, and is superseded
        clock.advance(DISCONNECTED_LASTS)
        clock.advance(timedelta(milliseconds=10))
        await said(one, "after 1")
        clock.advance(timedelta(milliseconds=10))
        await said(other, "after 2")
        assert await loaded(one) == await loaded(other) == ["before 1", "before 2", *during, "after 1", "after 2"]
