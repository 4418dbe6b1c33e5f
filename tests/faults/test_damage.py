"""A damaged file never gives a wrong answer: it is refused, or the damage is told."""

import random
import sqlite3
import zlib
from pathlib import Path

import pytest

from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.domain.kernel.items import Item, Key, Put
from mcp_memory_server.errors import MemoryServerError, TableDamagedError

pytestmark = pytest.mark.anyio

ROWS = 120


@pytest.fixture
async def healthy_file(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    table = await SqliteItemTable.open(path)
    for number in range(0, ROWS, 10):
        await table.write([Put(key(n), body(n)) for n in range(number, number + 10)])
    await table.close()
    return path


def key(number: int) -> Key:
    return Key("USER#ana", f"FACT#{number:04}")


def body(number: int) -> dict[str, str]:
    return {"text": f"Fact {number}: {random.Random(number).randbytes(40).hex()}"}


async def test_of_400_flipped_bits_none_changes_an_answer_or_hides_a_part_of_it(healthy_file: Path) -> None:
    seed = random.randrange(2**32)
    chance, original = random.Random(seed), healthy_file.read_bytes()
    expected = {key(number).sk: body(number) for number in range(ROWS)}
    refused, told, unharmed = 0, 0, 0

    for _ in range(400):
        place, bit = chance.randrange(len(original)), 1 << chance.randrange(8)
        damaged = bytearray(original)
        damaged[place] ^= bit
        healthy_file.write_bytes(damaged)
        flip = f"seed {seed}: bit {bit} of byte {place}"
        try:
            items = await everything(healthy_file)
        except MemoryServerError:
            refused += 1
            continue
        readable = {item.key.sk: item.body for item in items if not item.is_damaged}
        assert all(expected[sk] == found for sk, found in readable.items()), f"{flip} changed an answer"
        assert len(readable) == ROWS or len(items) > len(readable), f"{flip} hid an item"
        told += len(readable) < ROWS
        unharmed += len(readable) == ROWS

    print(f"seed {seed}: 400 flips, {refused} refused, {told} told, {unharmed} without effect, 0 wrong")
    assert told + refused > 100


async def everything(path: Path) -> tuple[Item, ...]:
    table = await SqliteItemTable.open(path)
    try:
        return (await table.query("USER#ana", limit=None)).items
    finally:
        await table.close()


async def test_a_file_of_another_program_is_refused_and_left_untouched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (text TEXT)")
    connection.close()
    before = zlib.crc32(path.read_bytes())

    with pytest.raises(TableDamagedError, match=r"another program.*left untouched.*MCP_MEMORY_TABLE"):
        await SqliteItemTable.open(path)

    assert zlib.crc32(path.read_bytes()) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["other.db"]


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\x00", b"# notes\n" * 100], ids=["empty", "cut", "text"])
async def test_a_file_that_is_no_memory_is_refused_and_left_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)

    with pytest.raises(TableDamagedError, match=r"left untouched.*mv "):
        await SqliteItemTable.open(path)

    assert path.read_bytes() == content


async def test_a_file_cut_short_is_refused_and_left_untouched(healthy_file: Path) -> None:
    cut = healthy_file.read_bytes()[:8192]
    healthy_file.write_bytes(cut)

    with pytest.raises(TableDamagedError, match="damaged"):
        await everything(healthy_file)

    assert healthy_file.read_bytes() == cut


async def test_a_file_of_a_newer_release_is_refused_with_the_advice_to_upgrade(healthy_file: Path) -> None:
    connection = sqlite3.connect(healthy_file)
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(TableDamagedError, match=r"newer release.*Upgrade"):
        await SqliteItemTable.open(healthy_file)


async def test_the_file_and_its_log_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    table = await SqliteItemTable.open(tmp_path / "folder" / "memory.db")
    await table.put(Put(key(1), body(1)))

    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "folder").iterdir()}
    await table.close()

    assert modes.keys() >= {"memory.db", "memory.db-wal"}
    assert set(modes.values()) == {0o600}
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o700
