"""What is true of SQLite only: its file, and what becomes of turns that cannot be read."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server.adapters.sqlite import outbox_statements as statements
from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.adapters.sqlite.outbox import SqliteOutbox
from mcp_memory_server.adapters.sqlite.outbox_file import OutboxFile
from mcp_memory_server.adapters.sqlite.outbox_statements import UNREADABLE_PAUSE
from mcp_memory_server.errors import TableFullError, TableUnavailableError, UnavailableError
from tests.clock import FakeClock
from tests.stores.outboxes import ANA, BEN, LEASE, PATIENCE, add_all, claim, queued, said

pytestmark = pytest.mark.anyio

FULL = 2


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "outbox.db"


@pytest.fixture
async def outbox(path: Path, clock: FakeClock) -> AsyncIterator[SqliteOutbox]:
    outbox = SqliteOutbox(path, now=clock, deadline=PATIENCE)
    yield outbox
    await outbox.close()


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


async def test_nothing_is_made_and_no_thread_is_started_before_something_is_added(
    outbox: SqliteOutbox, path: Path
) -> None:
    before = set(threading.enumerate())

    await outbox.waiting(ANA)
    await claim(outbox, "one")
    await outbox.length()
    await outbox.erase("ana")
    await outbox.remove("one", ["1"])

    assert not path.parent.exists()
    assert set(threading.enumerate()) == before


async def test_the_file_and_its_folder_are_the_owners_only(outbox: SqliteOutbox, path: Path) -> None:
    await outbox.add(queued())

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def test_every_commit_goes_to_the_disk(path: Path) -> None:
    file = OutboxFile(path, PATIENCE)

    settings = await file.write(
        lambda connection: [connection.execute(f"PRAGMA {name}").fetchone() for name in ("synchronous", "journal_mode")]
    )

    assert settings == [(FULL,), ("wal",)]
    await file.close()


async def test_long_text_is_compressed(outbox: SqliteOutbox, path: Path) -> None:
    await outbox.add(queued("long " * 100_000))

    with closing(sqlite3.connect(path)) as connection:
        ((size,),) = connection.execute("SELECT length(text) FROM turns").fetchall()
    assert size < 10_000


async def test_an_erased_turn_is_nowhere_in_the_file_or_its_log(outbox: SqliteOutbox, path: Path) -> None:
    await outbox.add(queued("the secret of Ana"))
    await outbox.add(queued("the word of Ben", BEN))

    await outbox.erase("ana")

    left = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"the word of Ben" in left
    assert b"the secret of Ana" not in left


async def test_a_claim_renews_the_lease_of_what_it_has_no_room_for(outbox: SqliteOutbox, clock: FakeClock) -> None:
    await add_all(outbox, ANA, "first")
    await add_all(outbox, BEN, "another's")
    await claim(outbox, "one")
    clock.advance(LEASE / 2)
    await claim(outbox, "one", most=1)
    clock.advance(LEASE / 2)

    assert said(await claim(outbox, "two")) == []


async def test_nobody_holds_the_sessions_of_a_user_who_was_erased(outbox: SqliteOutbox) -> None:
    await add_all(outbox, ANA, "first")
    await claim(outbox, "one")
    await outbox.erase("ana")
    await add_all(outbox, ANA, "second")

    assert said(await claim(outbox, "two")) == ["second"]


async def test_a_damaged_turn_is_reported_and_holds_up_its_session_only(
    outbox: SqliteOutbox, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await add_all(outbox, ANA, "first", "the secret", "third")
    await add_all(outbox, BEN, "another's")
    change(path, "UPDATE turns SET text = replace(text, 'the secret', 'the Secret') WHERE number = 2")

    assert said(await claim(outbox, "one")) == ["first", "another's"]

    assert "turn 2 of the outbox is damaged" in caplog.text
    assert "ecret" not in caplog.text
    with pytest.raises(TableUnavailableError, match=r"turns \[2\]"):
        await outbox.waiting(ANA)
    assert len(await outbox.waiting(BEN)) == 1
    assert (await outbox.length()).turns == 4


async def test_a_damaged_turn_is_tried_and_reported_again_later(
    outbox: SqliteOutbox, path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    await add_all(outbox, ANA, "first")
    change(path, "UPDATE turns SET checksum = checksum + 1")
    await claim(outbox, "one")
    caplog.clear()

    assert said(await claim(outbox, "one")) == []
    assert not caplog.records
    clock.advance(UNREADABLE_PAUSE)
    assert said(await claim(outbox, "one")) == []
    assert len(caplog.records) == 1
    change(path, "UPDATE turns SET checksum = checksum - 1")
    clock.advance(UNREADABLE_PAUSE)
    assert said(await claim(outbox, "one")) == ["first"]


@pytest.mark.parametrize("column", ["operation", "turn_id", "queued_at"])
async def test_text_that_is_not_unicode_any_more_is_a_damaged_turn(
    outbox: SqliteOutbox, path: Path, column: str
) -> None:
    await add_all(outbox, ANA, "first")
    await add_all(outbox, BEN, "another's")
    change(path, f"UPDATE turns SET {column} = CAST(x'ff' AS TEXT) WHERE number = 1")

    assert said(await claim(outbox, "one")) == ["another's"]


async def test_a_damaged_file_is_refused_and_left_untouched_until_it_is_moved_away(
    path: Path, clock: FakeClock
) -> None:
    outbox = SqliteOutbox(path, now=clock)
    await outbox.add(queued())
    await outbox.close()
    whole = path.read_bytes()
    damaged = whole[:100] + b"\xff" * (len(whole) - 100)
    path.write_bytes(damaged)
    outbox = SqliteOutbox(path, now=clock)

    with pytest.raises(TableUnavailableError, match=r"damaged.*left untouched.*mv "):
        await outbox.waiting(ANA)
    with pytest.raises(TableUnavailableError, match="damaged"):
        await outbox.add(queued())

    assert path.read_bytes() == damaged
    path.rename(path.with_name("outbox.db.damaged"))
    await outbox.add(queued())
    assert len(await outbox.waiting(ANA)) == 1
    await outbox.close()


@pytest.mark.parametrize(("content", "words"), [(b"", "is empty"), (b"notes", "not an outbox")])
async def test_a_file_that_is_no_database_is_refused_and_left_untouched(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "outbox.db"
    path.write_bytes(content)
    outbox = SqliteOutbox(path)

    with pytest.raises(TableUnavailableError, match=words):
        await outbox.add(queued())

    assert path.read_bytes() == content
    await outbox.close()


async def test_a_database_of_another_program_is_refused_and_left_untouched(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    await (await SqliteItemTable.open(path)).close()
    before = path.read_bytes()
    outbox = SqliteOutbox(path)

    with pytest.raises(TableUnavailableError, match="another program"):
        await outbox.add(queued())

    assert path.read_bytes() == before
    await outbox.close()


async def test_a_file_of_a_newer_release_is_refused(outbox: SqliteOutbox, path: Path) -> None:
    await outbox.add(queued())
    await outbox.close()
    change(path, "PRAGMA user_version = 2")
    again = SqliteOutbox(path)

    with pytest.raises(TableUnavailableError, match="newer release"):
        await again.waiting(ANA)
    await again.close()


async def test_a_file_that_was_moved_away_is_unavailable(outbox: SqliteOutbox, path: Path) -> None:
    await outbox.add(queued())
    path.rename(path.with_name("elsewhere.db"))

    with pytest.raises(TableUnavailableError, match="moved"):
        await outbox.waiting(ANA)
    with pytest.raises(TableUnavailableError, match="moved"):
        await outbox.add(queued())


async def test_a_place_where_no_folder_can_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    outbox = SqliteOutbox(tmp_path / "file" / "outbox.db")

    with pytest.raises(TableUnavailableError, match="cannot use"):
        await outbox.add(queued())
    await outbox.close()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nobody keeps the administrator out of a folder")
async def test_a_folder_that_may_not_be_looked_into_is_not_taken_for_an_empty_outbox(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o000)
    outbox = SqliteOutbox(folder / "outbox.db")

    with pytest.raises(UnavailableError):
        await outbox.waiting(ANA)
    await outbox.close()


async def test_a_full_disk_is_told_and_what_was_added_is_kept(outbox: SqliteOutbox, path: Path) -> None:
    (first,) = await add_all(outbox, ANA, "first")
    full = OutboxFile(path, PATIENCE)
    await full.write(lambda connection: connection.execute("PRAGMA max_page_count = 20").fetchall())
    large = queued(os.urandom(200_000).hex())

    with pytest.raises(TableFullError):
        await full.write(lambda connection: statements.add(connection, large))

    assert list(await outbox.waiting(ANA)) == [first]
    await full.close()


async def test_a_file_that_another_process_holds_for_too_long_is_unavailable(path: Path, clock: FakeClock) -> None:
    outbox = SqliteOutbox(path, now=clock, deadline=timedelta(milliseconds=200))
    await outbox.add(queued("first"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")

        with pytest.raises(TableUnavailableError):
            await outbox.add(queued("second"))
        assert [one.turn.content for one in await outbox.waiting(ANA)] == ["first"]
    await outbox.close()


async def test_many_that_make_the_file_at_once_make_one(path: Path, clock: FakeClock) -> None:
    outboxes = [SqliteOutbox(path, now=clock, deadline=PATIENCE) for _ in range(8)]

    await asyncio.gather(*(outbox.add(queued()) for outbox in outboxes))

    assert len(await outboxes[0].waiting(ANA)) == 8
    for outbox in outboxes:
        await outbox.close()
    assert [file.name for file in path.parent.iterdir()] == ["outbox.db"]


def test_the_package_is_loaded_without_the_outbox() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, mcp_memory_server; print([n for n in sys.modules if 'outbox_' in n])"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert loaded.stdout.strip() == "[]"
