"""Many at once, from one event loop or from several: nothing is lost, and one wins."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcp_memory_server.domain.kernel.items import Key, Put, Update
from mcp_memory_server.errors import ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from tests.contract.item_table.test_write_at_once import state

# moto checks a condition and writes in two steps, so it has no place here.
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("table_address", ["sqlite", "dynamodb-local", "dax"], indirect=True),
]

PK = "USER#anna"
KEY = Key(PK, "a")
MANY = 50


async def test_no_counter_update_is_lost(item_table: ItemTable) -> None:
    await asyncio.gather(*(item_table.update(Update(KEY, add={"count": 1})) for _ in range(MANY)))

    assert await state(item_table) == {"a": (MANY, {"count": MANY})}


async def test_no_counter_update_is_lost_among_several_writes_at_once(item_table: ItemTable) -> None:
    writes = [[Update(KEY, add={"count": 1}), Put(Key(PK, f"t{number:02}"), {}, 0)] for number in range(10)]

    await asyncio.gather(*(item_table.write(pair) for pair in writes))

    assert (await state(item_table))["a"] == (10, {"count": 10})
    assert len(await state(item_table)) == 11


async def test_an_operation_that_is_sent_many_times_at_once_happens_once(item_table: ItemTable) -> None:
    update = Update(KEY, add={"count": 1})

    await asyncio.gather(*(item_table.update(update, operation_id="op-1") for _ in range(20)))

    assert await state(item_table) == {"a": (1, {"count": 1})}


async def test_puts_without_an_expected_version_all_happen(item_table: ItemTable) -> None:
    versions = await asyncio.gather(*(item_table.put(Put(KEY, {"by": number})) for number in range(10)))

    assert sorted(versions) == list(range(1, 11))


async def test_of_many_creators_one_wins(item_table: ItemTable) -> None:
    puts = (item_table.put(Put(KEY, {"by": number}, expected_version=0)) for number in range(MANY))

    outcomes = await asyncio.gather(*puts, return_exceptions=True)

    winners = [number for number, outcome in enumerate(outcomes) if outcome == 1]
    assert len(winners) == 1
    assert sum(isinstance(outcome, ConflictError) for outcome in outcomes) == MANY - 1
    assert await state(item_table) == {"a": (1, {"by": winners[0]})}


async def test_a_table_may_be_awaited_from_several_event_loops(item_table: ItemTable) -> None:
    async def raise_the_counter() -> None:
        await asyncio.gather(*(item_table.update(Update(KEY, add={"count": 1})) for _ in range(10)))

    with ThreadPoolExecutor(2) as threads:
        loops = [threads.submit(asyncio.run, raise_the_counter()) for _ in range(3)]
        await asyncio.gather(*map(asyncio.wrap_future, loops))

    assert await state(item_table) == {"a": (30, {"count": 30})}
