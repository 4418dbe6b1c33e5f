"""Deleted text leaves the files: the log that a reader keeps from being emptied, and the gaps in pages."""

import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from mcp_memory_server.adapters.sqlite import item_table as module
from mcp_memory_server.adapters.sqlite.files.file import connect
from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.domain.kernel.items import Key, Put

pytestmark = pytest.mark.anyio

SECRET = "Quillon Marwick was diagnosed in March"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def table(path: Path) -> AsyncIterator[SqliteItemTable]:
    opened = await SqliteItemTable.open(path)
    yield opened
    await opened.close()


def files_with(text: str, path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir() if text.encode() in file.read_bytes())


def snapshot_of(path: Path) -> sqlite3.Connection:
    reader = connect(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM items").fetchall()
    return reader


async def test_a_scrub_that_a_reader_prevents_says_so_and_is_made_up_for(
    table: SqliteItemTable, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SCRUB_AGAIN_SECONDS", 0.05)
    key = Key("USER#anna", "FACT#1")
    await table.put(Put(key, {"text": SECRET}))
    with closing(snapshot_of(path)) as reader:
        await table.delete(key)
        while_read = await table.scrub([SECRET])
        left = files_with(SECRET, path)
        reader.execute("ROLLBACK")
    while files_with(SECRET, path):  # the background does it, however long a loaded machine takes
        await table.get(key)

    assert while_read is False
    assert "memory.db-wal" in left


async def test_a_scrub_without_a_reader_is_complete(table: SqliteItemTable, path: Path) -> None:
    key = Key("USER#anna", "FACT#1")
    await table.put(Put(key, {"text": SECRET}))
    await table.delete(key)

    assert await table.scrub([SECRET]) is True
    assert files_with(SECRET, path) == []


async def test_no_text_of_a_thousand_stays_in_the_gaps_of_pages(table: SqliteItemTable, path: Path) -> None:
    order = random.Random(16)
    names = [f"{order.getrandbits(60):015x}" for _ in range(1000)]
    texts = {name: f"{name} {'word ' * order.randrange(60)}end" for name in names}
    for start in range(0, len(names), 10):
        await table.write(
            [Put(Key("USER#anna", f"FACT#~{name}"), {"text": texts[name]}) for name in names[start:][:10]]
        )
    kept, deleted = names[::2], names[1::2]
    await table.delete_many([Key("USER#anna", f"FACT#~{name}") for name in deleted])

    is_done = await table.scrub([texts[name] for name in deleted])

    in_file = path.read_bytes()
    assert is_done is True
    assert [name for name in deleted if name.encode() + b" " in in_file] == []
    assert len((await table.query("USER#anna", limit=None)).items) == len(kept)


async def test_a_text_that_another_item_still_has_does_not_prevent_a_scrub(table: SqliteItemTable) -> None:
    for name in ("1", "2"):
        await table.put(Put(Key("USER#anna", f"FACT#{name}"), {"text": SECRET}))
    await table.delete(Key("USER#anna", "FACT#1"))

    assert await table.scrub([SECRET]) is True
