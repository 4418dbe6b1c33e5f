"""A write-ahead log that is deleted under a running process is noticed, and what was acknowledged is not lost."""

import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.errors import TableUnavailableError
from tests.faults.conversations import until

pytestmark = pytest.mark.anyio

ACKNOWLEDGED = [Key("USER#ana", f"FACT#{number:02}") for number in range(20)]
# Another process opens a copy of the file alone, as after a crash of this one: what is in the log only is not there.
COUNT = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM items').fetchone()[0])"


def in_the_file_alone(path: Path) -> int:
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())
    return int(subprocess.run([sys.executable, "-c", COUNT, copy], capture_output=True, check=True, text=True).stdout)


@pytest.mark.parametrize(
    "calls",
    [lambda table: table.get(ACKNOWLEDGED[0]), lambda table: table.put(Put(Key("USER#ana", "LATE"), {"text": "x"}))],
    ids=["a read", "a write"],
)
async def test_it_is_noticed_by_the_next_call_and_its_content_is_saved(
    tmp_path: Path, calls: Callable[[SqliteItemTable], Awaitable[object]]
) -> None:
    path = tmp_path / "memory.db"
    table = await SqliteItemTable.open(path)
    for key in ACKNOWLEDGED:
        await table.put(Put(key, {"text": "x"}))
    before = in_the_file_alone(path)
    path.with_name("memory.db-wal").unlink()

    with pytest.raises(TableUnavailableError, match="-wal' was deleted or replaced while in use; restart"):
        await calls(table)

    async def is_saved() -> bool:
        return in_the_file_alone(path) >= len(ACKNOWLEDGED)

    await until(is_saved, "the log is in the file")
    assert before < len(ACKNOWLEDGED)
    with pytest.raises(TableUnavailableError, match="restart"):
        await table.get(ACKNOWLEDGED[0])
    await table.close()
    again = await SqliteItemTable.open(path)
    assert len(await again.get_many(ACKNOWLEDGED)) == len(ACKNOWLEDGED)
    await again.close()


async def test_processes_that_come_and_go_do_not_look_like_a_deleted_log(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    first = await SqliteItemTable.open(path)
    for number in range(3):
        other = await SqliteItemTable.open(path)
        await other.put(Put(ACKNOWLEDGED[number], {"text": "x"}))
        await first.scrub()
        await other.close()
        assert len(await first.get_many(ACKNOWLEDGED)) == number + 1
    await first.close()
