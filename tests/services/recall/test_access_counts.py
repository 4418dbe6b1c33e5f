"""Counting how often memories are returned delays no reply and costs no write per memory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.concurrency.event_loop_thread import EventLoopThread
from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema.keys import access_key
from mcp_memory_server.services.recall import access_counts
from mcp_memory_server.services.recall.access_counts import AccessCounts
from mcp_memory_server.wiring import running
from tests.clock import FakeClock
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio


@pytest.fixture
async def table(path: Path, clock: FakeClock) -> AsyncIterator[SqliteItemTable]:
    table = await SqliteItemTable.open(path, now=clock)
    yield table
    await table.close()


async def counted(memory: Memory, anna: Scope) -> dict[str, object]:
    item = await memory.table.get(access_key(anna))
    return {} if item is None else dict(item.body)


async def test_a_hundred_replies_cost_one_write(table: SqliteItemTable, anna: Scope, clock: FakeClock) -> None:
    watched = WatchedTable(table)
    async with running(watched.as_table, now=clock) as memory:
        await memory.recall.search(anna, "cat")  # loads the model, so that the fact gets its vector with its write
        learned = await memory.facts.learn(anna, Statement("Anna has a cat"))
        await memory.recall.search(anna, "cat")
        watched.calls.clear()
        for _ in range(99):
            await memory.recall.search(anna, "cat")
        during = watched.calls["update"] + watched.calls["put"] + watched.calls["write"]

    item = await table.get(access_key(anna))
    assert during == 0
    assert item is not None
    assert item.body == {f"n:{learned.fact.id}": 100}


async def test_a_frequently_returned_memory_comes_before_its_equal(
    table: SqliteItemTable, anna: Scope, clock: FakeClock
) -> None:
    async with running(table, now=clock) as memory:
        for name in ("Mimi", "Lilo"):
            await memory.facts.learn(anna, Statement(f"Anna has a cat called {name}"))
        for _ in range(50):
            await memory.recall.search(anna, "Lilo", max_tokens=60)

        found = await memory.recall.search(anna, "Anna has a cat")

    assert found.memories[0].text == "Anna has a cat called Lilo"


async def test_nothing_is_counted_for_a_user_who_was_erased(
    table: SqliteItemTable, anna: Scope, clock: FakeClock
) -> None:
    async with running(table, now=clock) as memory:
        await memory.facts.learn(anna, Statement("Anna has a cat"))
        await memory.recall.search(anna, "cat")
        await memory.erasure.forget_user(anna)

    assert await table.count() == 1  # what says that the user was erased


async def test_old_counts_fade_when_there_are_many(
    memory: Memory, anna: Scope, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_counts, "MOST_COUNTS", 3)
    await memory.facts.learn(anna, Statement("Anna has a cat"))
    background = EventLoopThread("memory-background")
    counts = AccessCounts(memory.table, background, clock)
    counts.note(anna, ["often"] * 9 + ["sometimes"] * 4 + ["twice"] * 2 + ["once"])

    await counts.write()
    await background.close()

    assert await counted(memory, anna) == {"n:often": 4, "n:sometimes": 2, "n:twice": 1}


async def test_two_processes_count_together(
    memory: Memory, other_process: Memory, anna: Scope, clock: FakeClock
) -> None:
    await memory.facts.learn(anna, Statement("Anna has a cat"))
    for process in (memory, other_process):
        background = EventLoopThread("memory-background")
        counts = AccessCounts(process.table, background, clock)
        counts.note(anna, ["cat", "cat"])
        await counts.write()
        await background.close()

    assert await counted(memory, anna) == {"n:cat": 4}
