"""Turns that wait for the table are counted once at every read, however many there are and whoever delivers them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mcp_memory_server.adapters.redis.outbox import RedisOutbox
from mcp_memory_server.adapters.redis.sessions import open_redis
from mcp_memory_server.adapters.sqlite.dead_letters import SqliteDeadLetters
from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.adapters.sqlite.outbox import SqliteOutbox
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.sessions.acknowledge import Acknowledge
from mcp_memory_server.domain.sessions.limits import REMEMBERED_OPERATIONS
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.errors import TableThrottledError
from mcp_memory_server.memory import Memory
from mcp_memory_server.wiring import SessionBackends, running
from tests.engines.servers import RedisServer
from tests.faults.conversations import until_delivered
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio

CHAT = Scope("anna", "chat 1")
PATIENCE = timedelta(seconds=30)
BACKLOG = REMEMBERED_OPERATIONS + 60
OUTBOXES = pytest.mark.parametrize("outbox_is_in_cache", [False, True], ids=["outbox in a file", "outbox in Redis"])


class ThrottledTable(WatchedTable):
    """The real table, which refuses to write while it is throttled."""

    is_throttled = False

    def __getattr__(self, name: str) -> Any:
        method = super().__getattr__(name)

        async def call(*arguments: object, **named: object) -> object:
            if self.is_throttled and name in {"put", "write", "update"}:
                raise TableThrottledError("too much is written")
            return await method(*arguments, **named)

        return call


@asynccontextmanager
async def opened(
    path: Path, redis: RedisServer, *, in_cache: bool, acknowledge: Acknowledge = Acknowledge.TABLE
) -> AsyncGenerator[tuple[Memory, ThrottledTable]]:
    table = ThrottledTable(await SqliteItemTable.open(path))
    namespace = sha256(str(path).encode()).hexdigest()
    sessions = open_redis(redis.url, namespace=namespace, deadline=PATIENCE, settling=timedelta(0))
    outbox = RedisOutbox.of(sessions) if in_cache else SqliteOutbox(path.with_name("outbox.db"))
    dead_letters = SqliteDeadLetters(path.with_name("outbox.db"))
    beside = SessionBackends(
        sessions.cache, sessions.channel, sessions.deadlines, outbox, dead_letters, acknowledge, in_cache
    )
    async with running(table.as_table, beside) as memory:
        yield memory, table
    for store in (sessions, outbox, dead_letters, table):
        await store.close()


async def append(memory: Memory, turns: int) -> None:
    for number in range(turns):
        await memory.conversations.append(CHAT, NewTurn(Role.USER, f"Turn {number}", token_count=3))


async def check_counts(memory: Memory, turns: int) -> None:
    loaded = await memory.conversations.load(CHAT)
    assert (loaded.status, loaded.turn_count, loaded.token_count) == (Status.COMPLETE, turns, 3 * turns)
    stored = await memory.conversations.load(CHAT, turns=5)
    assert (stored.status, stored.turn_count, stored.token_count) == (Status.COMPLETE, turns, 3 * turns)


@OUTBOXES
async def test_a_backlog_longer_than_what_the_cache_remembers_is_counted_once(
    path: Path, shared_redis: RedisServer, *, outbox_is_in_cache: bool
) -> None:
    async with opened(path, shared_redis, in_cache=outbox_is_in_cache) as (memory, table):
        await append(memory, 1)
        table.is_throttled = True
        for written in range(1, BACKLOG, 65):
            await append(memory, 65)
            await check_counts(memory, written + 65)
        table.is_throttled = False
        while (await memory.redrive.waiting()).turns:
            await check_counts(memory, BACKLOG + 1)
        await check_counts(memory, BACKLOG + 1)
        await append(memory, 1)
        await check_counts(memory, BACKLOG + 2)


@OUTBOXES
async def test_turns_acknowledged_by_the_outbox_are_counted_once_while_they_are_delivered(
    path: Path, shared_redis: RedisServer, *, outbox_is_in_cache: bool
) -> None:
    outbox = Acknowledge.OUTBOX
    async with opened(path, shared_redis, in_cache=outbox_is_in_cache, acknowledge=outbox) as (memory, _):
        for written in range(0, 2 * BACKLOG, 104):
            await append(memory, 104)
            await check_counts(memory, written + 104)
        await until_delivered(memory)
        await check_counts(memory, 2 * BACKLOG)


@OUTBOXES
async def test_a_cached_session_that_is_lost_while_turns_wait_is_not_counted_without_them(
    path: Path, shared_redis: RedisServer, *, outbox_is_in_cache: bool
) -> None:
    async with opened(path, shared_redis, in_cache=outbox_is_in_cache) as (memory, table):
        await append(memory, 3)
        table.is_throttled = True
        await append(memory, 30)
        await drop_cached_session(path, shared_redis)

        await check_counts(memory, 33)
        await check_counts(memory, 33)
        await append(memory, 30)
        await check_counts(memory, 63)
        table.is_throttled = False
        while (await memory.redrive.waiting()).turns:
            await check_counts(memory, 63)
        await check_counts(memory, 63)
        await append(memory, 1)
        await check_counts(memory, 64)


async def drop_cached_session(path: Path, redis: RedisServer) -> None:
    """Lose the cached session, as a full server does that evicts it."""
    namespace = sha256(str(path).encode()).hexdigest()
    sessions = open_redis(redis.url, namespace=namespace, deadline=PATIENCE)
    await sessions.cache.drop(CHAT)
    await sessions.close()
