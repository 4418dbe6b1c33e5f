"""Running sessions: loaded from the cache, appended to with one write, never waiting for a table that is not there."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from mcp_memory_server.adapters.redis.sessions import open_redis
from mcp_memory_server.adapters.sqlite.dead_letters import SqliteDeadLetters
from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.adapters.sqlite.outbox import SqliteOutbox
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.sessions.acknowledge import Acknowledge
from mcp_memory_server.domain.sessions.limits import MAX_TURNS, TOKEN_BUDGET
from mcp_memory_server.domain.sessions.turns import NewTurn, Role, View
from mcp_memory_server.errors import TableUnavailableError
from mcp_memory_server.memory import Memory
from mcp_memory_server.services.sessions.cache_epoch import SNAPSHOT_LASTS
from mcp_memory_server.services.sessions.session_reader import NOT_CHECKED
from mcp_memory_server.services.sessions.stored_turns import REST_SECONDS
from mcp_memory_server.wiring import SessionBackends, running
from tests.clock import FakeClock
from tests.engines.servers import RedisServer
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio

CHAT = Scope("anna", "chat 1")
PATIENCE = timedelta(seconds=30)


class Process:
    """A memory over files that processes share, and over a table that can be taken away from this one."""

    def __init__(self, memory: Memory, table: WatchedTable) -> None:
        self.memory = memory
        self.table = table
        self.append = memory.conversations.append
        self.load = memory.conversations.load

    async def delivered(self) -> None:
        """Wait until nothing is on its way to the table."""
        async with asyncio.timeout(PATIENCE.total_seconds()):
            while (await self.memory.redrive.waiting()).turns:  # noqa: ASYNC110 - another thread delivers them
                await asyncio.sleep(0.01)


@asynccontextmanager
async def a_process(
    path: Path, redis: str, clock: FakeClock, *, acknowledge: Acknowledge = Acknowledge.TABLE
) -> AsyncGenerator[Process]:
    table = WatchedTable(await SqliteItemTable.open(path, now=clock))
    namespace = sha256(str(path).encode()).hexdigest()  # the same for every process over one table
    sessions = open_redis(redis, namespace=namespace, deadline=PATIENCE, settling=timedelta(0))
    outbox = SqliteOutbox(path.with_name("outbox.db"), now=clock)
    dead_letters = SqliteDeadLetters(path.with_name("outbox.db"), now=clock)
    beside = SessionBackends(sessions.cache, sessions.channel, sessions.deadlines, outbox, dead_letters, acknowledge)
    async with running(table.as_table, beside, now=clock, monotonic=lambda: clock().timestamp()) as memory:
        yield Process(memory, table)
    for store in (sessions, outbox, dead_letters, table):
        await store.close()


@pytest.fixture
async def process(path: Path, shared_redis: RedisServer, clock: FakeClock) -> AsyncIterator[Process]:
    async with a_process(path, shared_redis.url, clock) as one:
        yield one


@pytest.fixture
async def other(path: Path, shared_redis: RedisServer, clock: FakeClock) -> AsyncIterator[Process]:
    async with a_process(path, shared_redis.url, clock) as one:
        yield one


def said(text: str, *, tokens: int = 3, importance: float = 0.5) -> NewTurn:
    return NewTurn(Role.USER, text, token_count=tokens, importance=importance)


async def no_table() -> None:
    raise TableUnavailableError("the table is down")


async def test_a_warm_session_loads_without_a_request_to_the_table(process: Process) -> None:
    for number in range(3):
        await process.append(CHAT, said(f"Turn {number}"))
    await process.load(CHAT)
    process.table.calls.clear()

    loaded = await process.load(CHAT)

    assert process.table.calls == {}
    assert (loaded.status, loaded.turn_count, loaded.token_count) == (Status.COMPLETE, 3, 9)
    assert [turn.content for turn in loaded.turns] == ["Turn 0", "Turn 1", "Turn 2"]


async def test_a_warm_append_is_one_write_to_the_table(process: Process) -> None:
    for number in range(3):
        await process.append(CHAT, said(f"Turn {number}"))
    process.table.calls.clear()

    await process.append(CHAT, said("Another"))

    assert process.table.calls == {"put": 1}


async def test_what_one_process_appends_the_other_one_loads(process: Process, other: Process) -> None:
    for number in range(10):
        await (process if number % 2 else other).append(CHAT, said(f"Turn {number}"))

        told = [(await one.load(CHAT)).turns[-1].content for one in (process, other)]

        assert told == [f"Turn {number}"] * 2


async def test_a_copy_and_the_table_tell_the_same(process: Process, other: Process) -> None:
    for number in range(MAX_TURNS):
        await process.append(CHAT, NewTurn(Role.ASSISTANT, f"Turn {number}", intent="talk", agent="shop"))

    at_hand = await process.load(CHAT, view=View.EVERYTHING)
    stored = await other.load(CHAT, turns=MAX_TURNS, view=View.EVERYTHING)

    assert at_hand == stored


async def test_a_long_session_keeps_its_budget_and_leads_back_to_what_made_way(process: Process) -> None:
    contents = [f"Turn {number}" for number in range(60)]
    for number, content in enumerate(contents):
        await process.append(CHAT, said(content, tokens=400, importance=0.9 if number == 55 else 0.5))

    loaded = await process.load(CHAT)
    found, cursor = (
        [turn for turn in loaded.turns if loaded.cursor and f"TURN#{turn.id}" >= loaded.cursor],
        loaded.cursor,
    )
    while cursor is not None:
        older = await process.memory.conversations.before(CHAT, cursor)
        found, cursor = [*older.turns, *found], older.cursor

    assert len(loaded.turns) <= MAX_TURNS
    assert 400 * len(loaded.turns) <= TOKEN_BUDGET
    assert {"Turn 55", "Turn 59"} <= {turn.content for turn in loaded.turns}
    assert loaded.turn_count == 60
    assert [turn.content for turn in found] == contents


async def test_a_turn_that_the_table_does_not_take_in_time_is_pending_and_seen_at_once(
    process: Process, other: Process
) -> None:
    await process.append(CHAT, said("First"))
    process.table.before["put"] = no_table

    kept = await process.append(CHAT, said("Second"))
    seen_here, seen_there = await process.load(CHAT), await other.load(CHAT)
    await process.delivered()
    stored = await other.load(CHAT, turns=10)

    assert kept.pending
    assert [turn.content for turn in seen_here.turns] == ["First", "Second"]
    assert seen_there.turns == seen_here.turns
    assert [turn.content for turn in stored.turns] == ["First", "Second"]
    assert (stored.turn_count, stored.token_count) == (2, 6)


async def test_turns_follow_one_that_is_pending_in_their_order(process: Process) -> None:
    await process.append(CHAT, said("First"))
    process.table.before["put"] = no_table

    pending = [(await process.append(CHAT, said(f"Turn {number}"))).pending for number in range(3)]
    await process.delivered()

    stored = await process.load(CHAT, turns=10)
    assert pending[0]
    assert [turn.content for turn in stored.turns] == ["First", "Turn 0", "Turn 1", "Turn 2"]


async def test_acknowledged_in_the_outbox_a_turn_is_in_the_table_a_moment_later(
    path: Path, shared_redis: RedisServer, clock: FakeClock
) -> None:
    async with a_process(path, shared_redis.url, clock, acknowledge=Acknowledge.OUTBOX) as process:
        kept = [await process.append(CHAT, said(f"Turn {number}")) for number in range(20)]
        await process.delivered()
        stored = await process.load(CHAT, turns=50)

    assert all(one.pending for one in kept)
    assert [turn.id for turn in stored.turns] == [one.turn.id for one in kept]
    assert stored.turn_count == 20


async def test_a_repetition_is_one_turn_wherever_the_first_one_is(process: Process, other: Process) -> None:
    process.table.before["write"] = no_table
    first = await process.append(CHAT, said("Book it"), operation_id="m-1")
    again = await process.append(CHAT, said("Book it"), operation_id="m-1")
    await process.delivered()
    elsewhere = await other.append(CHAT, said("Book it"), operation_id="m-1")

    loaded = await other.load(CHAT, turns=10)
    assert first.pending
    assert {again.turn.id, elsewhere.turn.id} == {first.turn.id}
    assert again.repeated
    assert elsewhere.repeated
    assert (len(loaded.turns), loaded.turn_count) == (1, 1)


async def test_when_the_table_is_down_a_copy_is_told_as_possibly_incomplete(process: Process, clock: FakeClock) -> None:
    await process.append(CHAT, said("First"))
    clock.advance(SNAPSHOT_LASTS)
    process.table.before["get"] = no_table

    loaded = await process.load(CHAT)
    clock.advance(timedelta(seconds=REST_SECONDS))
    later = await process.load(CHAT)

    assert (loaded.status, loaded.missing) == (Status.PARTIAL, (NOT_CHECKED,))
    assert [turn.content for turn in loaded.turns] == ["First"]
    assert later.status is Status.COMPLETE


async def test_forgetting_a_user_takes_copies_and_what_waits_along(process: Process, path: Path) -> None:
    await process.append(CHAT, said("A secret word: xylophone"))
    process.table.before["put"] = no_table
    await process.append(CHAT, said("Another xylophone"))

    await process.memory.erasure.forget_user(Scope("anna"))

    kept = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"xylophone" not in kept
    assert (await process.load(CHAT)).turns == ()
    assert (await process.memory.redrive.waiting()).turns == 0
