"""Dead letters in the outbox file."""

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from mcp_memory_server.adapters.sqlite.files.file import primary_code
from mcp_memory_server.adapters.sqlite.outbox_file import DEADLINE, OutboxFile
from mcp_memory_server.adapters.sqlite.outbox_rows import COLUMNS, columns_of, queued_from
from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.domain.sessions.queued_turns import DeadLetter, HeldLetter

IN_HAND = timedelta(minutes=5)
"""Whoever takes a letter has so long to see to it before others may take it."""

_NO_LETTERS: Sequence[HeldLetter] = ()

logger = logging.getLogger(__name__)


class SqliteDeadLetters:
    """Answers the port of dead letters on the outbox file, which is made when something is first added."""

    def __init__(self, path: Path, *, now: Callable[[], datetime] = utc_now, deadline: timedelta = DEADLINE) -> None:
        self._file = OutboxFile(path, deadline)
        self._now = now

    async def add(self, letter: DeadLetter) -> None:
        """See the port."""
        await self._file.write(lambda connection: _add(connection, letter))

    async def take(self, *, most: int) -> Sequence[HeldLetter]:
        """See the port. A letter that cannot be read stays in the file and is reported."""
        now = self._now()
        return await self._file.change(lambda connection: _take(connection, most, now), otherwise=_NO_LETTERS)

    async def let_go(self, receipts: Sequence[str]) -> None:
        """See the port. Whoever held a letter for too long changes nothing: it may be in other hands."""
        taken = [receipt.split("/") for receipt in receipts]
        statement = "UPDATE letters SET held_until = 0 WHERE number = ? AND times_taken = ?"
        await self._file.change(lambda connection: connection.executemany(statement, taken), otherwise=None)

    async def remove(self, receipts: Sequence[str]) -> None:
        """See the port."""
        numbers = [receipt.split("/")[:1] for receipt in receipts]
        statement = "DELETE FROM letters WHERE number = ?"
        await self._file.change(lambda connection: connection.executemany(statement, numbers), otherwise=None)

    async def erase(self, user_id: str) -> int:
        """See the port. What was deleted is overwritten, in the file and in its log."""
        statement = "DELETE FROM letters WHERE user = ?"
        erased = await self._file.change(lambda found: found.execute(statement, (user_id,)).rowcount, otherwise=0)
        await self._file.scrub()
        return erased

    async def count(self) -> int:
        """See the port. What cannot be read counts too."""
        return await self._file.read(_count, otherwise=0)

    async def close(self) -> None:
        """See the port."""
        await self._file.close()


def _add(connection: sqlite3.Connection, letter: DeadLetter) -> None:
    reason_and_time = (letter.reason, letter.died_at.isoformat())
    connection.execute(
        f"INSERT INTO letters ({COLUMNS}, reason, died_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*columns_of(letter.queued, *reason_and_time), *reason_and_time),
    )


def _take(connection: sqlite3.Connection, most: int, now: datetime) -> list[HeldLetter]:
    held: list[HeldLetter] = []
    for number in _free(connection, now):
        if len(held) == most:
            break
        times = _put_in_hand(connection, number, now + IN_HAND)
        letter = _read(connection, number)
        if letter is None:
            logger.error("dead letter %s of the outbox is damaged; it stays in the file", number)
        else:
            held.append(HeldLetter(letter, f"{number}/{times}"))
    return held


def _free(connection: sqlite3.Connection, now: datetime) -> Iterator[int]:
    """Find one after the other, the oldest first: a row may be changed before the next one is looked for."""
    last = 0
    statement = "SELECT number FROM letters WHERE number > ? AND held_until <= ? ORDER BY number LIMIT 1"
    while (row := connection.execute(statement, (last, now.timestamp())).fetchone()) is not None:
        last = row[0]
        yield last


def _put_in_hand(connection: sqlite3.Connection, number: int, until: datetime) -> int:
    ((times,),) = connection.execute(
        "UPDATE letters SET times_taken = times_taken + 1, held_until = ? WHERE number = ? RETURNING times_taken",
        (until.timestamp(), number),
    ).fetchall()
    return times


def _read(connection: sqlite3.Connection, number: int) -> DeadLetter | None:
    """Return the letter, None if it cannot be read. Errors about that may quote it, so they are not passed on."""
    try:
        *columns, reason, died_at = connection.execute(
            f"SELECT {COLUMNS}, reason, died_at FROM letters WHERE number = ?", (number,)
        ).fetchone()
        queued = queued_from(tuple(columns), reason, died_at)
        return DeadLetter(queued, reason, datetime.fromisoformat(died_at))
    except (ValueError, TypeError):
        return None
    except sqlite3.OperationalError as error:
        if primary_code(error) is not None:
            raise
        return None  # text that is not UTF-8 any more


def _count(connection: sqlite3.Connection) -> int:
    ((count,),) = connection.execute("SELECT count(*) FROM letters").fetchall()
    return count
