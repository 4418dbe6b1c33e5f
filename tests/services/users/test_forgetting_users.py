"""Forgetting a user wins against every worker of every process, and says what it could not reach."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server.adapters.redis.sessions import open_redis
from mcp_memory_server.adapters.sqlite.dead_letters import SqliteDeadLetters
from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.adapters.sqlite.outbox import SqliteOutbox
from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.queued_turns import DeadLetter, QueuedTurn
from mcp_memory_server.domain.sessions.turns import NewTurn, Role, Turn
from mcp_memory_server.errors import ForgottenError, TableUnavailableError, UnavailableError
from mcp_memory_server.memory import Memory
from mcp_memory_server.wiring import running
from mcp_memory_server.wiring.session_backends import SessionBackends
from tests.clock import FakeClock
from tests.engines.servers import RedisServer
from tests.services.watched_table import Interruption, WatchedTable

pytestmark = pytest.mark.anyio

ANNA = Scope("anna")
CHAT = Scope("anna", "chat")
BACKLOG = 60


@asynccontextmanager
async def a_process(path: Path, clock: FakeClock) -> AsyncGenerator[tuple[Memory, WatchedTable, SessionBackends]]:
    table = WatchedTable(await SqliteItemTable.open(path, now=clock))
    outbox = SqliteOutbox(path.with_name("outbox.db"), now=clock)
    letters = SqliteDeadLetters(path.with_name("outbox.db"), now=clock)
    beside = SessionBackends(outbox=outbox, dead_letters=letters)
    async with running(table.as_table, beside, now=clock) as memory:
        yield memory, table, beside
    for store in (outbox, letters, table):
        await store.close()


@pytest.fixture
async def eraser(path: Path, clock: FakeClock) -> AsyncIterator[Memory]:
    async with a_process(path, clock) as (memory, _, _):
        yield memory


async def queue_backlog(path: Path, clock: FakeClock) -> None:
    """Leave turns in the outbox, as a process does that died."""
    outbox = SqliteOutbox(path.with_name("outbox.db"), now=clock)
    for number in range(BACKLOG):
        turn = Turn(ulid_after(None, clock() + timedelta(milliseconds=number)), Role.USER, f"xylophone {number}")
        await outbox.add(QueuedTurn(Scope("anna", f"chat {number % 6}"), turn, f"operation-{number}", clock()))
    await outbox.close()


async def wake_worker(memory: Memory, table: WatchedTable, then: Interruption | None = None) -> None:
    """Have a turn of somebody else queued, which wakes the worker; ``then`` is done before its next write."""

    async def no_table() -> None:
        if then is not None:
            table.before["put"] = then
        raise TableUnavailableError("the table is down")

    table.before["put"] = table.before["write"] = no_table
    await memory.conversations.append(Scope("ben", "chat"), NewTurn(Role.USER, "Hello"))
    table.before.pop("write", None)


async def delivered(memory: Memory) -> None:
    async with asyncio.timeout(30):
        while (await memory.redrive.waiting()).turns:  # noqa: ASYNC110 - another thread delivers them
            await asyncio.sleep(0.01)


async def everything(memory: Memory) -> list[str]:
    sessions = [(await memory.conversations.load(Scope("anna", f"chat {number}"))).turns for number in range(6)]
    return [turn.content for turns in sessions for turn in turns]


async def test_the_backlog_of_a_dead_process_does_not_come_back(path: Path, clock: FakeClock) -> None:
    await queue_backlog(path, clock)
    async with a_process(path, clock) as (worker, table, _), a_process(path, clock) as (eraser, _, _):
        done = []

        async def erase() -> None:
            done.append(await eraser.erasure.forget_user(ANNA))

        await wake_worker(worker, table, then=erase)  # in the middle of a delivery, after the turns were claimed
        async with asyncio.timeout(30):
            while not done:  # noqa: ASYNC110 - another thread does it
                await asyncio.sleep(0.01)
        await delivered(worker)

    async with a_process(path, clock) as (memory, _, _):
        assert await everything(memory) == []
        assert (await memory.recall.search(ANNA, "xylophone")).memories == ()
        again = await memory.erasure.forget_user(ANNA)

    assert done[0].status is Status.COMPLETE
    # The worker may have written the counters of its six sessions and its activity in between: no text is in these.
    assert again.removed <= 7


async def test_a_dead_letter_that_somebody_held_is_dropped_at_its_redrive(
    eraser: Memory, path: Path, clock: FakeClock
) -> None:
    letters = SqliteDeadLetters(path.with_name("outbox.db"), now=clock)
    await eraser.erasure.forget_user(ANNA)
    turn = Turn(ulid_after(None, clock()), Role.USER, "xylophone")
    await letters.add(DeadLetter(QueuedTurn(CHAT, turn, "operation", clock()), "too large", clock()))

    await eraser.redrive.replay()

    assert (await eraser.conversations.load(CHAT)).turns == ()
    assert await eraser.redrive.count() == 0
    await letters.close()


async def test_what_was_said_before_is_not_learned_afterwards(eraser: Memory, clock: FakeClock) -> None:
    said_at = clock()
    clock.advance(timedelta(hours=1))
    await eraser.erasure.forget_user(ANNA)

    with pytest.raises(ForgottenError, match="before everything"):
        await eraser.facts.learn(ANNA, Statement("Ana lives in Bern.", said_at=said_at))
    await eraser.facts.learn(ANNA, Statement("Ana lives in Bern."))

    assert len(await eraser.facts.all(ANNA)) == 1


async def test_a_user_who_comes_back_is_served(path: Path, clock: FakeClock) -> None:
    async with a_process(path, clock) as (memory, table, beside):
        await memory.erasure.forget_user(ANNA)
        clock.advance(timedelta(minutes=2))
        assert beside.outbox is not None
        turn = Turn(ulid_after(None, clock()), Role.USER, "I am back")
        await beside.outbox.add(QueuedTurn(CHAT, turn, "operation", clock()))
        await wake_worker(memory, table)
        await delivered(memory)

        loaded = await memory.conversations.load(CHAT)

    assert [turn.content for turn in loaded.turns] == ["I am back"]


async def test_a_queue_that_does_not_answer_is_named_and_the_rest_is_erased(path: Path, clock: FakeClock) -> None:
    class Silent(SqliteOutbox):
        """A queue whose store is away."""

        async def erase(self, user_id: str) -> int:
            raise UnavailableError(f"no answer about {len(user_id)} letters")

    table = await SqliteItemTable.open(path, now=clock)
    outbox = Silent(path.with_name("outbox.db"), now=clock)
    async with running(table, SessionBackends(outbox=outbox), now=clock) as memory:
        await memory.facts.learn(ANNA, Statement("Ana lives in Bern."))
        done = await memory.erasure.forget_user(ANNA)
        facts = await memory.facts.all(ANNA)
    await outbox.close()
    await table.close()

    assert (done.status, facts) == (Status.PARTIAL, [])
    assert done.missing == ("queued turns: no answer about 4 letters",)


async def test_sessions_that_only_the_cache_has_are_dropped(
    path: Path, shared_redis: RedisServer, clock: FakeClock
) -> None:
    table = WatchedTable(await SqliteItemTable.open(path, now=clock))
    sessions = open_redis(shared_redis.url, namespace=path.parent.parent.name)
    outbox = SqliteOutbox(path.with_name("outbox.db"), now=clock)
    beside = SessionBackends(sessions.cache, sessions.channel, sessions.deadlines, outbox)
    async with running(table.as_table, beside, now=clock) as memory:
        await memory.conversations.append(CHAT, NewTurn(Role.USER, "xylophone"))
        listed = await sessions.cache.sessions_of("anna")
        others = await sessions.cache.sessions_of("ann")

        await memory.erasure.forget_user(ANNA)

        left = await sessions.cache.sessions_of("anna")
    for store in (sessions, outbox, table):
        await store.close()

    assert (list(listed), list(others), list(left)) == ([CHAT], [], [])
