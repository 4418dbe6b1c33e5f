"""What is asked of the outbox file, in SQL. All of it runs in the thread that owns the connection.

The turns of a session stand in one line. A line has at most one owner at a time, and is due when its first turn is.
"""

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mcp_memory_server.adapters.sqlite.files.file import primary_code
from mcp_memory_server.adapters.sqlite.outbox_rows import COLUMNS, columns_of, queued_from
from mcp_memory_server.domain.sessions.queued_turns import ClaimedTurn, QueuedTurn, QueueLength
from mcp_memory_server.errors import TableUnavailableError

UNREADABLE_PAUSE = timedelta(minutes=10)
STEPPED_BACK = timedelta(minutes=1)
"""A lease that ends so much later than one that begins now was taken before the clock was set back."""
"""A line stands still so long when one of its turns cannot be read; then it is tried and reported again."""

Line = tuple[str, str]
"""A user and a session."""

_ONE = "user = ? AND session = ?"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Claim:
    """Who wants turns, how many, and until when nobody else is to have them."""

    owner: str
    most: int
    now: datetime
    until: datetime


def add(connection: sqlite3.Connection, queued: QueuedTurn) -> None:
    """Put the turn at the end of its line, unless the operation stands in it."""
    columns = columns_of(queued)
    added = connection.execute(
        f"INSERT INTO turns ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (user, session, operation) DO NOTHING RETURNING number",
        columns,
    ).fetchall()
    for (number,) in added:
        connection.execute(
            "INSERT INTO lines (user, session, first) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (*columns[:2], number)
        )


def waiting(connection: sqlite3.Connection, line: Line) -> list[QueuedTurn]:
    """Return the turns of the line.

    Raises:
        TableUnavailableError: One of them is damaged.
    """
    numbers = connection.execute(f"SELECT number FROM turns WHERE {_ONE} ORDER BY number", line).fetchall()
    read = [(number, _read(connection, number)) for (number,) in numbers]
    if damaged := [number for number, turn in read if turn is None]:
        raise TableUnavailableError(f"turns {damaged} of the outbox are damaged; they stay in the file")
    return [turn.queued for _, turn in read if turn is not None]


def claim(connection: sqlite3.Connection, wanted: Claim) -> list[ClaimedTurn]:
    """Return the oldest turns of lines that are due and nobody else's, and make those lines the owner's."""
    moment, until = wanted.now.timestamp(), wanted.until.timestamp()
    connection.execute("UPDATE lines SET until = ? WHERE owner = ?", (until, wanted.owner))
    # The oldest so many turns stand in the so many lines whose first ones are the oldest.
    lines: list[Line] = connection.execute(
        "SELECT user, session FROM lines WHERE due <= ? AND (owner IS NULL OR owner = ? OR until <= ? OR until > ?) "
        "ORDER BY first LIMIT ?",
        (moment, wanted.owner, moment, until + STEPPED_BACK.total_seconds(), wanted.most),
    ).fetchall()
    places = sorted((number, line) for line in lines for number in _due(connection, line, moment, wanted.most))
    claimed = list(_readable(connection, places[: wanted.most], wanted.now))
    connection.executemany(
        f"UPDATE lines SET owner = ?, until = ? WHERE {_ONE}",
        {(wanted.owner, until, one.queued.scope.user_id, one.queued.scope.session_id) for one in claimed},
    )
    return claimed


def remove(connection: sqlite3.Connection, receipts: Sequence[str]) -> None:
    """Delete these turns. It does not matter who says so: the table has them, whoever holds the line by now."""
    lines: set[Line] = set()
    for receipt in receipts:
        lines.update(connection.execute("DELETE FROM turns WHERE number = ? RETURNING user, session", (receipt,)))
    for line in lines:
        _look_at_first(connection, line)


def put_off(connection: sqlite3.Connection, owner: str, receipt: str, due: datetime) -> None:
    """Count a failed attempt and wait until it is due. Whoever no longer holds the line changes nothing."""
    lines: list[Line] = connection.execute(
        "UPDATE turns SET attempts = attempts + 1, due = ? WHERE number = ? "
        "AND (user, session) IN (SELECT user, session FROM lines WHERE owner = ?) RETURNING user, session",
        (due.timestamp(), receipt, owner),
    ).fetchall()
    for line in lines:
        _look_at_first(connection, line)


def release(connection: sqlite3.Connection, owner: str) -> None:
    """Let go of every line of the owner."""
    connection.execute("UPDATE lines SET owner = NULL, until = 0 WHERE owner = ?", (owner,))


def erase(connection: sqlite3.Connection, user: str) -> int:
    """Delete every line of the user, and return how many turns stood in them."""
    connection.execute("DELETE FROM lines WHERE user = ?", (user,))
    return connection.execute("DELETE FROM turns WHERE user = ?", (user,)).rowcount


def length(connection: sqlite3.Connection) -> QueueLength:
    """Return how many turns there are, those that cannot be read included, and since when the first one waits."""
    ((count,),) = connection.execute("SELECT count(*) FROM turns").fetchall()
    first = connection.execute("SELECT queued_at FROM turns ORDER BY number LIMIT 1").fetchone()
    return QueueLength(count, None if first is None else _moment(first[0]))


def _due(connection: sqlite3.Connection, line: Line, moment: float, most: int) -> Iterator[int]:
    rows = connection.execute(f"SELECT number, due FROM turns WHERE {_ONE} ORDER BY number LIMIT ?", (*line, most))
    for number, due in rows.fetchall():
        if due > moment:
            return  # what comes later in the line waits with it
        yield number


def _readable(
    connection: sqlite3.Connection, places: Sequence[tuple[int, Line]], now: datetime
) -> Iterator[ClaimedTurn]:
    stopped: set[Line] = set()
    for number, line in places:
        turn = None if line in stopped else _read(connection, number)
        if turn is not None:
            yield turn
        elif line not in stopped:
            stopped.add(line)
            logger.error("turn %s of the outbox is damaged; it stays in the file, and its session waits", number)
            due = (now + UNREADABLE_PAUSE).timestamp()
            connection.execute(f"UPDATE lines SET due = ? WHERE {_ONE}", (due, *line))


def _read(connection: sqlite3.Connection, number: int) -> ClaimedTurn | None:
    """Return the turn, None if it cannot be read. Errors about that may quote it, so they are not passed on."""
    try:
        *columns, attempts = connection.execute(
            f"SELECT {COLUMNS}, attempts FROM turns WHERE number = ?", (number,)
        ).fetchone()
        return ClaimedTurn(queued_from(tuple(columns)), str(number), attempts)
    except (ValueError, TypeError):
        return None
    except sqlite3.OperationalError as error:
        if primary_code(error) is not None:
            raise
        return None  # text that is not UTF-8 any more


def _look_at_first(connection: sqlite3.Connection, line: Line) -> None:
    first = connection.execute(f"SELECT number, due FROM turns WHERE {_ONE} ORDER BY number LIMIT 1", line).fetchone()
    if first is None:
        connection.execute(f"DELETE FROM lines WHERE {_ONE}", line)
    else:
        connection.execute(f"UPDATE lines SET first = ?, due = ? WHERE {_ONE}", (*first, *line))


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
