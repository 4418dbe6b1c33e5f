"""How many requests an operation sends to Redis and to the table. These counts are exact, and do not depend on time."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from mcp_memory_server import NewTurn, Role, Scope
from mcp_memory_server.adapters.dynamodb.item_table import open_dynamodb
from mcp_memory_server.adapters.redis.outbox import RedisOutbox
from mcp_memory_server.adapters.redis.sessions import RedisSessions, open_redis
from mcp_memory_server.addresses import DynamoDbTable, parse_table
from mcp_memory_server.domain.sessions.acknowledge import Acknowledge
from mcp_memory_server.services.conversations.conversations import Conversations
from mcp_memory_server.wiring import SessionBackends, running
from tests.bench.counting import WRITES, CountingProxy, Request, dynamodb_request, redis_command
from tests.bench.figures import Cell, Figures
from tests.bench.stage import USER, Stage

DELIVERED_AFTER = 1.0
PATIENCE = timedelta(seconds=30)
BURST = 100
HELLO = NewTurn(Role.USER, "Where is my order?")
QUEUED = Scope(USER, "queued")

Operation = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Engines:
    """Where the engines are that stand behind the proxies."""

    redis_port: int
    endpoint: str
    table: str


@dataclass(frozen=True)
class Asked:
    """What was sent while somebody waited for one operation."""

    redis: Sequence[str]
    table: Sequence[str]


@dataclass(frozen=True)
class Counted:
    """Conversations in a table and a Redis, which are reached through counting proxies."""

    conversations: Conversations
    redis: CountingProxy
    table: CountingProxy

    async def asked(self, operation: Operation) -> Asked:
        """Do it, and return what it sent. Looks at the epoch and what is done later are not part of an operation."""
        redis, table = len(self.redis.requests), len(self.table.requests)
        await operation()
        return Asked(_names(self.redis.since(redis)), _names(self.table.since(table)))


@asynccontextmanager
async def counted_conversations(engines: Engines, *, queued: bool = False) -> AsyncGenerator[Counted]:
    """Run them on clocks that stand still, with sessions that settle at once; ``queued``, with an outbox in Redis."""
    port, moment = urlsplit(engines.endpoint).port or 80, datetime.now(UTC)
    async with AsyncExitStack() as opened:
        redis = await opened.enter_async_context(CountingProxy(engines.redis_port, redis_command))
        dynamodb = await opened.enter_async_context(CountingProxy(port, dynamodb_request))
        endpoint = f"http://127.0.0.1:{dynamodb.port}"
        table = open_dynamodb(engines.table, endpoint=endpoint, deadline=PATIENCE, now=lambda: moment)
        opened.push_async_callback(table.close)
        sessions = open_redis(f"redis://127.0.0.1:{redis.port}/0", deadline=PATIENCE, settling=timedelta(0))
        opened.push_async_callback(sessions.close)
        beside = SessionBackends(sessions.cache, sessions.channel, sessions.deadlines)
        if queued:
            beside = _with_outbox(beside, sessions)
        memory = await opened.enter_async_context(running(table, beside, now=lambda: moment, monotonic=lambda: 0.0))
        yield Counted(memory.conversations, redis, dynamodb)


async def counter_writes_of_a_burst(engines: Engines) -> int:
    """Append many turns to one session, close the memory, and return how many requests wrote its counters."""
    async with counted_conversations(engines) as counted:
        for _ in range(BURST):
            await counted.conversations.append(Scope(USER, "burst"), HELLO)
    return sum(request.writes_counters for request in counted.table.requests)


async def measure_requests(stage: Stage) -> Figures:
    table = parse_table((await stage.fresh()).table)
    assert isinstance(table, DynamoDbTable)
    engines = Engines(stage.redis.port, stage.endpoint, table.name)
    rows: list[Mapping[str, Cell]] = []
    async with counted_conversations(engines) as counted:
        rows += [_row(what, await counted.asked(work)) for what, work in _through_the_table(counted).items()]
    async with counted_conversations(engines, queued=True) as counted:
        await _prepare(counted)
        rows += [_row(what, await counted.asked(work)) for what, work in _through_the_outbox(counted).items()]
    writes = await counter_writes_of_a_burst(engines)
    return Figures(
        "Requests that somebody waits for",
        rows,
        (
            f"a burst of {BURST} appends to one session: {writes} writes of its counters, the last when it is closed",
            "not counted: one look at the epoch in a few seconds for each process",
        ),
    )


async def _prepare(counted: Counted) -> None:
    """Begin a session, make every connection, and let the turn get to the table."""
    await counted.conversations.append(QUEUED, HELLO)
    await asyncio.sleep(DELIVERED_AFTER)
    for _ in range(3):
        await counted.conversations.load(QUEUED)


def _with_outbox(beside: SessionBackends, sessions: RedisSessions) -> SessionBackends:
    return replace(
        beside,
        outbox=RedisOutbox.of(sessions),
        outbox_is_in_cache=True,
        acknowledge=Acknowledge.OUTBOX,
    )


def _through_the_table(counted: Counted) -> Mapping[str, Operation]:
    """Return what is done, in this order. The first one makes connections and teaches Redis the scripts."""
    chats, new, warm = counted.conversations, Scope(USER, "new"), Scope(USER, "warm")
    return {
        "first append of all, with connecting": lambda: chats.append(Scope(USER, "first"), HELLO),
        "first append to a session": lambda: chats.append(warm, HELLO),
        "append, session at hand": lambda: chats.append(warm, HELLO),
        "load, session at hand": lambda: chats.load(warm),
        "load the last 20 turns": lambda: chats.load(warm, turns=20),
        "load, session not at hand": lambda: chats.load(new),
        "load again": lambda: chats.load(new),
    }


def _through_the_outbox(counted: Counted) -> Mapping[str, Operation]:
    chats = counted.conversations
    return {
        "load, outbox in Redis": lambda: chats.load(QUEUED),
        "append, acknowledged by the outbox": lambda: chats.append(QUEUED, HELLO),
    }


def _names(requests: Sequence[Request]) -> list[str]:
    return [request.name for request in requests]


def _row(what: str, asked: Asked) -> Mapping[str, Cell]:
    writes = [name for name in asked.table if name in WRITES]
    return {
        "what": what,
        "redis": len(asked.redis),
        "table reads": len(asked.table) - len(writes),
        "table writes": len(writes),
        "which": ", ".join((*asked.redis, *asked.table)),
    }
