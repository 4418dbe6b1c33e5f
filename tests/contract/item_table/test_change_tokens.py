"""Change tokens of a table: as long as the token stays the same, nothing was written."""

import asyncio
import sys
from pathlib import Path

import pytest

from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.ports.item_table import ItemTable

pytestmark = pytest.mark.anyio

KEY = Key("USER#ana", "FACT#1")
WRITE_ELSEWHERE = """
import asyncio, sys
from pathlib import Path
from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.domain.kernel.items import Key, Put
async def main():
    table = await SqliteItemTable.open(Path(sys.argv[1]))
    await table.put(Put(Key("USER#ben", "FACT#1"), {"text": "other"}))
    await table.close()
asyncio.run(main())
"""


async def test_the_change_token_differs_after_every_write_or_is_none(item_table: ItemTable) -> None:
    tokens: list[object | None] = []
    for number in range(3):
        await item_table.put(Put(KEY, {"number": number}))
        tokens.append(await item_table.change_token())

    assert tokens == [None] * 3 or len(set(tokens)) == 3


async def test_the_change_token_of_a_file_stays_until_any_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    table = await SqliteItemTable.open(path)
    await table.put(Put(KEY, {"text": "first"}))
    first = await table.change_token()
    await table.get(KEY)
    after_reading = await table.change_token()

    writing = await asyncio.create_subprocess_exec(sys.executable, "-c", WRITE_ELSEWHERE, str(path))
    assert await writing.wait() == 0
    after_writing = await table.change_token()
    await table.close()

    assert first is not None
    assert (after_reading, after_writing != first) == (first, True)
