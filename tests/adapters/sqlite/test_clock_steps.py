"""A wrong clock hides what it takes for expired, and deletes nothing: that happens a week after it was seen."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.adapters.sqlite.statements import KEPT_EXPIRED
from mcp_memory_server.domain.kernel.items import Key, Put
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

ITEMS = 50
DAY = timedelta(days=1)


async def started(path: Path, clock: FakeClock) -> int:
    """Open the file as a process does that starts now, and return how many items it can read."""
    table = await SqliteItemTable.open(path, now=clock)
    await table.put(Put(Key("OTHER", "x"), {"text": "written after the first sweep"}))
    found = (await table.query("TURNS", limit=None)).items
    await table.close()
    return len(found)


def kept(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT count(*) FROM items WHERE pk = 'TURNS'").fetchone()[0]


@pytest.fixture
async def path(tmp_path: Path, clock: FakeClock) -> Path:
    path = tmp_path / "memory.db"
    table = await SqliteItemTable.open(path, now=clock)
    for number in range(ITEMS):
        await table.put(Put(Key("TURNS", f"{number:02}"), {"text": "x"}, expires_at=clock() + 90 * DAY))
    await table.close()
    return path


async def test_a_start_with_a_clock_a_hundred_days_ahead_deletes_nothing(path: Path, clock: FakeClock) -> None:
    right = clock()
    clock.advance(100 * DAY)
    assert await started(path, clock) == 0
    clock.advance(right - clock())

    assert await started(path, clock) == ITEMS


async def test_a_wrong_clock_at_several_starts_deletes_nothing_within_a_week(path: Path, clock: FakeClock) -> None:
    right = clock()
    clock.advance(100 * DAY)
    for _ in range(6):
        await started(path, clock)
        clock.advance(DAY)
    clock.advance(right - clock())

    assert await started(path, clock) == ITEMS


async def test_what_expired_is_deleted_a_week_after_that_was_seen(path: Path, clock: FakeClock) -> None:
    clock.advance(91 * DAY)
    await started(path, clock)
    clock.advance(KEPT_EXPIRED - timedelta(hours=1))
    await started(path, clock)
    before = kept(path)
    clock.advance(timedelta(hours=1))
    await started(path, clock)

    assert (before, kept(path)) == (ITEMS, 0)
