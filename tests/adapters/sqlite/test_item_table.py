"""What only the item table in a file does: it reads a few items where they are asked for, and many in threads."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_memory_server.adapters.sqlite.item_table import FEW, SqliteItemTable
from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.errors import TableUnavailableError

pytestmark = pytest.mark.anyio

KEYS = [Key("USER#ana", f"FACT#{number:02}") for number in range(FEW + 1)]


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[SqliteItemTable]:
    table = await SqliteItemTable.open(tmp_path / "memory.db")
    await asyncio.gather(*(table.put(Put(key, {"text": key.sk})) for key in KEYS))
    yield table
    await table.close()


async def test_few_items_and_many_are_read_alike(table: SqliteItemTable) -> None:
    few, many = await table.get_many(KEYS[:FEW]), await table.get_many(KEYS)

    assert {key.sk: item.body["text"] for key, item in many.items()} == {key.sk: key.sk for key in KEYS}
    assert few == {key: many[key] for key in KEYS[:FEW]}


async def test_threads_that_read_at_the_same_time_all_get_what_is_there(table: SqliteItemTable) -> None:
    found: list[object] = []

    def read() -> None:
        for _ in range(200):
            item = asyncio.run(table.get(KEYS[3]))
            found.append(item and item.body["text"])

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    await asyncio.to_thread(lambda: [thread.join() for thread in threads])

    assert (len(found), set(found)) == (800, {KEYS[3].sk})


async def test_a_closed_table_reads_nothing(tmp_path: Path) -> None:
    table = await SqliteItemTable.open(tmp_path / "memory.db")
    await table.close()

    with pytest.raises(TableUnavailableError, match="was closed"):
        await table.get(KEYS[0])
