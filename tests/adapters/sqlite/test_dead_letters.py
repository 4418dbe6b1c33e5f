"""What is true of dead letters in SQLite only: the clock, and letters that cannot be read."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server.adapters.sqlite.dead_letters import IN_HAND, SqliteDeadLetters
from mcp_memory_server.adapters.sqlite.outbox import SqliteOutbox
from mcp_memory_server.domain.sessions.turns import MAX_CONTENT_BYTES
from tests.clock import FakeClock
from tests.stores.outboxes import PATIENCE, letter, queued

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox.db"


@pytest.fixture
async def letters(path: Path, clock: FakeClock) -> AsyncIterator[SqliteDeadLetters]:
    letters = SqliteDeadLetters(path, now=clock, deadline=PATIENCE)
    yield letters
    await letters.close()


async def test_letters_share_the_file_with_the_outbox(letters: SqliteDeadLetters, path: Path, clock: FakeClock) -> None:
    outbox = SqliteOutbox(path, now=clock, deadline=PATIENCE)
    await outbox.add(queued())
    await letters.add(letter())

    assert ((await outbox.length()).turns, await letters.count()) == (1, 1)
    await outbox.close()


async def test_the_longest_turn_can_be_a_letter(letters: SqliteDeadLetters) -> None:
    longest = letter("😀" * (MAX_CONTENT_BYTES // 4))

    await letters.add(longest)

    assert [held.letter for held in await letters.take(most=1)] == [longest]


async def test_a_letter_that_was_held_for_too_long_others_may_take(
    letters: SqliteDeadLetters, clock: FakeClock
) -> None:
    await letters.add(letter())
    (late,) = await letters.take(most=1)
    clock.advance(IN_HAND - timedelta(milliseconds=1))
    assert list(await letters.take(most=1)) == []

    clock.advance(timedelta(milliseconds=1))

    assert len(await letters.take(most=1)) == 1
    await letters.let_go([late.receipt])
    assert list(await letters.take(most=1)) == [], "it is in other hands by now"


@pytest.mark.parametrize("change", ["reason = 'another'", "text = zeroblob(9)", "user = CAST(x'ff' AS TEXT)"])
async def test_a_damaged_letter_is_reported_and_stays(
    letters: SqliteDeadLetters, path: Path, caplog: pytest.LogCaptureFixture, change: str
) -> None:
    await letters.add(letter("first"))
    await letters.add(letter("second"))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE letters SET {change} WHERE number = 1")

    held = await letters.take(most=1)

    assert [one.letter.queued.turn.content for one in held] == ["second"]
    assert "dead letter 1 of the outbox is damaged" in caplog.text
    assert await letters.count() == 2


async def test_an_erased_letter_is_nowhere_in_the_file_or_its_log(letters: SqliteDeadLetters, path: Path) -> None:
    await letters.add(letter("the secret of Ana"))

    await letters.erase("ana")

    assert b"the secret of Ana" not in b"".join(file.read_bytes() for file in path.parent.iterdir())
