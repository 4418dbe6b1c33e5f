"""Many processes write one conversation while it grows over partitions: each turn is kept once, and counted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import Role, Turn, View
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.services.sessions.stored_turns import StoredTurns
from tests.stores.tables import Address, utc_now

ENGINES = ["dynamodb-local", pytest.param("dax", marks=pytest.mark.slow)]
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("table_address", ENGINES, indirect=True)]

CHAT = Scope("anna", "the whole town")
WRITERS = 8
TURNS_EACH = 60
MOST_PARTITIONS = 10


@pytest.fixture
async def tables(table_address: Address) -> AsyncIterator[list[ItemTable]]:
    """The same table, opened by each process for itself."""
    async with AsyncExitStack() as opened:
        tables = [await table_address.open(utc_now) for _ in range(WRITERS + 1)]
        for table in tables:
            opened.push_async_callback(table.close)
        yield tables


async def _write(stored: StoredTurns, name: int) -> list[str]:
    """Write turns one after the other, and return the ids of those that were acknowledged."""
    kept: list[str] = []
    for number in range(TURNS_EACH):
        turn = Turn(ulid_after(kept[-1] if kept else None, utc_now()), Role.USER, f"{name}/{number}", token_count=3)
        await stored.put(TurnWrite(CHAT, turn, f"op {name}/{number}"))
        kept.append(turn.id)
        if number % 20 == 19:
            await stored.write_counts(all_of_them=number % 40 == 19)
    return kept


async def _grow(stored: StoredTurns) -> int:
    partitions = 1
    for to in range(2, MOST_PARTITIONS + 1):
        partitions = await stored.raise_partitions(CHAT, to)
        page = await stored.last(CHAT, 10, View.CONTEXT)
        assert page.partitions >= to
        assert [turn.id for turn in page.turns] == sorted({turn.id for turn in page.turns})
    return partitions


async def test_eight_writers_lose_and_repeat_nothing_while_the_partitions_grow(tables: list[ItemTable]) -> None:
    *writers, reader = [StoredTurns(table, utc_now) for table in tables]

    growing = asyncio.create_task(_grow(reader))
    acknowledged = await asyncio.gather(*(_write(stored, name) for name, stored in enumerate(writers)))
    partitions = await growing

    page = await reader.last(CHAT, 50, View.CONTEXT)
    assert (page.turn_count, page.token_count) == (WRITERS * TURNS_EACH, 3 * WRITERS * TURNS_EACH)
    assert page.partitions == partitions == MOST_PARTITIONS
    told = [turn.id for turn in page.turns]
    while page.cursor is not None:
        page = await reader.before(CHAT, page.cursor, 50, View.CONTEXT)
        told = [*(turn.id for turn in page.turns), *told]
    assert told == sorted(turn_id for some in acknowledged for turn_id in some)


async def test_eight_writers_that_put_the_same_turns_keep_each_once(tables: list[ItemTable]) -> None:
    *writers, reader = [StoredTurns(table, utc_now) for table in tables]
    turns: list[Turn] = []
    for number in range(20):
        turns.append(
            Turn(ulid_after(turns[-1].id if turns else None, utc_now()), Role.USER, f"{number}", token_count=1)
        )

    async def put_all(stored: StoredTurns) -> None:
        for turn in turns:
            await stored.put(TurnWrite(CHAT, turn, f"op {turn.id}"))
        await stored.write_counts(all_of_them=True)

    await asyncio.gather(*(put_all(stored) for stored in writers))

    page = await reader.last(CHAT, 50, View.CONTEXT)
    assert [turn.content for turn in page.turns] == [f"{number}" for number in range(20)]
    assert (page.turn_count, page.token_count) == (20, 20)
