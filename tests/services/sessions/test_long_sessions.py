"""Loading a session costs the same however long it is, whoever wrote to it, and however they ended."""

import json
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest

from mcp_memory_server.domain.kernel.items import MAX_WRITES_AT_ONCE, Item, Page, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import NewTurn, Role, Turn, View
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.turn_records import (
    TOKEN_COUNT,
    TURN_COUNT,
    WATERMARKS,
    meta_key,
    session_written,
    written,
)
from mcp_memory_server.services.sessions.stored_turns import StoredTurns
from mcp_memory_server.wiring import running
from tests.clock import FakeClock
from tests.services.conftest import OpenTable

pytestmark = pytest.mark.anyio

LONG = Scope("anna", "long")
TEXT = "A sentence of about the length that people write, with a number: {}."


@dataclass
class MeteredTable:
    """The real table, with the number of reads and the bytes of what was read."""

    table: ItemTable
    reads: int = 0
    bytes: int = 0
    items: list[Item] = field(default_factory=list[Item])

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.table, name)
        if name not in ("get", "get_many", "query", "find"):
            return method

        async def read(*arguments: Any, **named: Any) -> Any:
            answer = await method(*arguments, **named)
            self.reads += 1
            items = answer.items if isinstance(answer, Page) else []
            self.bytes += sum(len(json.dumps(item.body, default=str)) for item in items)
            return answer

        return read


async def cost_of_a_cold_load(table: ItemTable, clock: FakeClock) -> tuple[int, int]:
    """Return the requests and the bytes of the default load of a process that has seen nothing before."""
    metered = MeteredTable(table)
    async with running(cast("ItemTable", metered), now=clock) as memory:
        loaded = await memory.conversations.load(LONG)
        assert loaded.turns
        return metered.reads, metered.bytes


@pytest.fixture
async def table(open_table: OpenTable, path: Path) -> ItemTable:
    return await open_table(path)


async def fill(table: ItemTable, clock: FakeClock, turns: int) -> None:
    """Write and count turns as one process would have over the time."""
    last: str | None = None
    for start in range(0, turns, MAX_WRITES_AT_ONCE - 1):
        puts: list[Put] = []
        for number in range(start, min(turns, start + MAX_WRITES_AT_ONCE - 1)):
            last = ulid_after(last, clock())
            turn = Turn(last, Role.USER, TEXT.format(number), token_count=12)
            puts.append(written(LONG, turn, clock(), beside={"embedding": b"\x01" * 260, "embedded_by": "m"}).turn)
        await table.write(
            [*puts, session_written(LONG, clock(), add={TURN_COUNT: len(puts), TOKEN_COUNT: 12 * len(puts)})]
        )
    clock.advance(timedelta(seconds=1))


async def watermarks(table: ItemTable) -> Any:
    meta = await table.get(meta_key(LONG))
    return None if meta is None else meta.body.get(WATERMARKS)


async def test_a_process_that_wrote_one_turn_and_closed_leaves_nothing_to_be_read(
    table: ItemTable, clock: FakeClock
) -> None:
    async with running(table, now=clock) as memory:
        await memory.conversations.append(LONG, NewTurn(Role.USER, "Hello!"))

    assert await watermarks(table) == {}


@pytest.mark.parametrize("seen_by", ["a server", "nobody"])
async def test_the_watermark_of_a_killed_process_is_removed_and_its_turns_are_counted(
    table: ItemTable, clock: FakeClock, seen_by: str
) -> None:
    now = [0.0]
    killed = StoredTurns(table, clock)
    await put(killed, clock, 3)
    others = StoredTurns(table, clock, monotonic=lambda: now[0])
    if seen_by == "a server":
        await others.last(LONG, 20, View.CONTEXT)
        now[0] = 901.0
    else:
        clock.advance(timedelta(minutes=31))
    page = await others.last(LONG, 20, View.CONTEXT)

    await others.write_counts()

    assert await watermarks(table) == {}
    assert page.turn_count == (await StoredTurns(table, clock).last(LONG, 20, View.CONTEXT)).turn_count == 3


async def test_the_watermark_of_a_running_process_is_left_alone(table: ItemTable, clock: FakeClock) -> None:
    now = [0.0]
    writer = StoredTurns(table, clock, monotonic=lambda: now[0])
    others = StoredTurns(table, clock, monotonic=lambda: now[0])
    for _ in range(5):
        await put(writer, clock, 1)
        await writer.write_counts(all_of_them=False)
        now[0] += 290.0
        clock.advance(timedelta(seconds=290))
        await others.last(LONG, 20, View.CONTEXT)
        await others.write_counts()

    assert (await others.last(LONG, 20, View.CONTEXT)).turn_count == 5
    await writer.write_counts(all_of_them=True)
    assert (await others.last(LONG, 20, View.CONTEXT)).turn_count == 5


async def put(stored: StoredTurns, clock: FakeClock, turns: int) -> None:
    for number in range(turns):
        clock.advance(timedelta(milliseconds=5))
        turn = Turn(ulid_after(None, clock()), Role.USER, TEXT.format(number), token_count=12)
        await stored.put(TurnWrite(LONG, turn, uuid4().hex))


@pytest.mark.parametrize("writers", [1, 4])
@pytest.mark.parametrize("turns", [400, 4_000, pytest.param(100_000, marks=pytest.mark.slow)])
async def test_a_cold_load_of_a_long_session_costs_what_one_of_a_short_one_does(
    open_table: OpenTable, tmp_path: Path, clock: FakeClock, turns: int, writers: int
) -> None:
    costs: dict[int, tuple[int, int]] = {}
    for length in (20, turns):
        table = await open_table(tmp_path / f"{length}.db")
        await fill(table, clock, length)
        async with AsyncExitStack() as processes:
            for _ in range(writers):
                memory = await processes.enter_async_context(running(table, now=clock))
                await memory.conversations.append(LONG, NewTurn(Role.USER, TEXT.format("last")))
                clock.advance(timedelta(seconds=1))
        costs[length] = await cost_of_a_cold_load(table, clock)

    (short_reads, short_bytes), (long_reads, long_bytes) = costs[20], costs[turns]
    assert long_reads == short_reads
    assert long_bytes <= 1.2 * short_bytes


async def test_the_default_load_reads_no_vectors_and_no_details(table: ItemTable, clock: FakeClock) -> None:
    await fill(table, clock, 40)

    _, size = await cost_of_a_cold_load(table, clock)

    assert size < 20 * (len(TEXT) + 180)
