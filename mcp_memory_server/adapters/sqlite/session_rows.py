"""The rows of a session memory's file, in SQL. All of it runs in the thread that owns the connection."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta

from mcp_memory_server.adapters.session_codec.turn_text import turn_from, turn_text
from mcp_memory_server.domain.sessions.cached_session import Appended
from mcp_memory_server.domain.sessions.limits import (
    FULL_REPLIES_KEPT,
    REMEMBERED_OPERATIONS,
    STATE_LIFE,
    Limits,
    Weight,
    trimmed,
)
from mcp_memory_server.domain.sessions.turns import LIFE, Turn

Owner = tuple[str, str]
"""A user and a session."""

ONE = "user = ? AND session = ?"

_OF_A_COPY = ("sessions", "turns", "recorded", "operations")


@dataclass(frozen=True)
class CachedRow:
    """What a session's row says.

    ``run`` is the start of the machine in which it was begun, ``since`` when, in milliseconds. Before it is whole,
    ``count`` and ``total_tokens`` are those of the turns that were recorded. ``summary`` is JSON.
    """

    run: str
    epoch: int
    since: int
    token: str
    whole: bool = False
    count: int = 0
    total_tokens: int = 0
    last: str = ""
    gap: str = ""
    summary: str = "null"
    added: int = 0


def read_cached(connection: sqlite3.Connection, owner: Owner, now: datetime) -> CachedRow | None:
    """Return the session's row, None if there is none or it has expired."""
    row = connection.execute(
        "SELECT run, epoch, since, token, whole, count, total_tokens, last, gap, summary, added "
        f"FROM sessions WHERE {ONE} AND expires_at > ?",
        (*owner, now.timestamp()),
    ).fetchone()
    return None if row is None else CachedRow(*row)


def save_cached(connection: sqlite3.Connection, owner: Owner, copy: CachedRow, expires_at: datetime) -> None:
    """Replace the session's row."""
    values = (*owner, *astuple(copy), expires_at.timestamp())
    connection.execute(f"REPLACE INTO sessions VALUES ({', '.join('?' for _ in values)})", values)


def delete_cached(connection: sqlite3.Connection, owner: Owner) -> None:
    """Delete everything of the session but its state and its deadline."""
    for table in _OF_A_COPY:
        connection.execute(f"DELETE FROM {table} WHERE {ONE}", owner)


def drop(connection: sqlite3.Connection, owner: Owner) -> None:
    """Delete everything of the session."""
    delete_cached(connection, owner)
    for table in ("states", "deadlines"):
        connection.execute(f"DELETE FROM {table} WHERE {ONE}", owner)


def keep_alive(connection: sqlite3.Connection, owner: Owner, life: timedelta, now: datetime) -> None:
    """Move the session's deadline, and the end of its state."""
    connection.execute("REPLACE INTO deadlines VALUES (?, ?, ?)", (*owner, (now + life).timestamp()))
    connection.execute(
        f"UPDATE states SET expires_at = ? WHERE {ONE} AND expires_at > ?",
        ((now + STATE_LIFE).timestamp(), *owner, now.timestamp()),
    )


def due(connection: sqlite3.Connection, now: datetime, limit: int) -> list[Owner]:
    """Return whose deadline has passed, the longest overdue first."""
    return connection.execute(
        "SELECT user, session FROM deadlines WHERE moment <= ? ORDER BY moment, user, session LIMIT ?",
        (now.timestamp(), limit),
    ).fetchall()


def settle_deadline(connection: sqlite3.Connection, owner: Owner, now: datetime) -> None:
    """Delete the session's deadline if it has passed."""
    connection.execute(f"DELETE FROM deadlines WHERE {ONE} AND moment <= ?", (*owner, now.timestamp()))


def sum_up(connection: sqlite3.Connection, owner: Owner, summary: str, now: datetime) -> None:
    """Replace the summary of a whole copy, given as JSON."""
    connection.execute(
        f"UPDATE sessions SET summary = ? WHERE {ONE} AND whole AND expires_at > ?", (summary, *owner, now.timestamp())
    )


def delete_expired(connection: sqlite3.Connection, now: datetime) -> None:
    """Delete what nobody can see any more."""
    moment = now.timestamp()
    gone = "(user, session) IN (SELECT user, session FROM sessions WHERE expires_at <= ?)"
    for table in reversed(_OF_A_COPY):  # the rows of the sessions last: they tell which
        connection.execute(f"DELETE FROM {table} WHERE {gone}", (moment,))
    connection.execute("DELETE FROM states WHERE expires_at <= ?", (moment,))
    # Where nobody takes care of what is due, deadlines would be kept for ever.
    connection.execute("DELETE FROM deadlines WHERE moment <= ?", ((now - LIFE).timestamp(),))


def cached_turns(connection: sqlite3.Connection, owner: Owner) -> tuple[Turn, ...]:
    """Return the turns, oldest first.

    Raises:
        ValueError: One of them cannot be read.
    """
    rows = connection.execute(f"SELECT id, text FROM turns WHERE {ONE} ORDER BY id", owner).fetchall()
    return tuple(turn_from(turn_id, text) for turn_id, text in rows)


def insert_turns(connection: sqlite3.Connection, owner: Owner, turns: Iterable[Turn]) -> None:
    """Add turns to those at hand."""
    connection.executemany(
        "INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?)",
        [(*owner, turn.id, turn.token_count, turn.importance, turn_text(turn)) for turn in turns],
    )


def delete_turns(connection: sqlite3.Connection, owner: Owner) -> None:
    """Take away all turns at hand, and what was recorded."""
    for table in ("turns", "recorded"):
        connection.execute(f"DELETE FROM {table} WHERE {ONE}", owner)


def make_room(connection: sqlite3.Connection, owner: Owner, limits: Limits) -> tuple[tuple[Turn, ...], int]:
    """Take away the turns that make way; return them, and how many tokens the others have."""
    rows: list[tuple[str, int, float]] = connection.execute(
        f"SELECT id, tokens, importance FROM turns WHERE {ONE} ORDER BY id", owner
    ).fetchall()
    places = trimmed([Weight(tokens, importance) for _, tokens, importance in rows], limits)
    gone = tuple(_take(connection, owner, rows[place][0]) for place in places)
    return gone, sum(tokens for _, tokens, _ in rows) - sum(turn.token_count for turn in gone)


def record(connection: sqlite3.Connection, owner: Owner, turn: Turn) -> None:
    """Write down that a turn was added before the copy was whole."""
    connection.execute("INSERT INTO recorded VALUES (?, ?, ?, ?)", (*owner, turn.id, turn.token_count))


def recorded(connection: sqlite3.Connection, owner: Owner) -> Sequence[tuple[str, int]]:
    """Return the ids and the tokens of what was recorded."""
    return connection.execute(f"SELECT id, tokens FROM recorded WHERE {ONE} ORDER BY id", owner).fetchall()


def is_known(connection: sqlite3.Connection, owner: Owner, turn_id: str) -> bool:
    """Tell whether the turn is at hand, or was recorded."""
    found = " UNION ALL ".join(f"SELECT 1 FROM {table} WHERE {ONE} AND id = ?" for table in ("turns", "recorded"))
    return connection.execute(found, (*owner, turn_id) * 2).fetchone() is not None


def answer_of(connection: sqlite3.Connection, owner: Owner, operation: str) -> Appended | None:
    """Return what the operation answered, None if it is not known."""
    row = connection.execute(
        f"SELECT turn_id, count, tokens, trimmed FROM operations WHERE {ONE} AND operation = ?", (*owner, operation)
    ).fetchone()
    if row is None:
        return None
    turn_id, count, tokens, gone = row
    return Appended(
        turn_id, count, tokens, repeated=True, trimmed=tuple(turn_from(name, text) for name, text in json.loads(gone))
    )


def remember(connection: sqlite3.Connection, owner: Owner, operation: str, number: int, answer: Appended) -> None:
    """Keep what the operation answered, and less of the earlier ones."""
    gone = json.dumps([(turn.id, turn_text(turn)) for turn in answer.trimmed])
    connection.execute(
        "INSERT INTO operations VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*owner, operation, number, answer.turn_id, answer.count, answer.tokens, gone),
    )
    forgotten, no_longer_in_full = number - REMEMBERED_OPERATIONS, number - FULL_REPLIES_KEPT
    connection.execute(f"DELETE FROM operations WHERE {ONE} AND number <= ?", (*owner, forgotten))
    connection.execute(f"UPDATE operations SET trimmed = '[]' WHERE {ONE} AND number = ?", (*owner, no_longer_in_full))


def _take(connection: sqlite3.Connection, owner: Owner, turn_id: str) -> Turn:
    ((text,),) = connection.execute(
        f"DELETE FROM turns WHERE {ONE} AND id = ? RETURNING text", (*owner, turn_id)
    ).fetchall()
    return turn_from(turn_id, text)
