"""What is asked of the file of a session memory, in SQL. All of it runs in the thread that owns the connection."""

import json
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mcp_memory_server.domain.kept_sessions import (
    REMEMBERED_OPERATIONS,
    STATE_LIFE,
    TOLD_IN_FULL,
    turn_from,
    turn_text,
)
from mcp_memory_server.domain.session_copies import Appended, SessionCopy, SharedState
from mcp_memory_server.domain.sessions import Limits, Tier, Weight, lifetime, trimmed
from mcp_memory_server.domain.turns import LIFE, Turn
from mcp_memory_server.domain.ulids import next_ulid
from mcp_memory_server.errors import ConflictError

Owner = tuple[str, str]
"""A user and a session."""

_ONE = "user = ? AND session = ?"


@dataclass(frozen=True)
class Copy:
    """What a session's row says; ``whole`` is the start of the machine in which it was filled."""

    whole: str | None = None
    count: int = 0
    last: str | None = None
    appended: int = 0


@dataclass(frozen=True)
class Addition:
    """A turn to append, and under what rules."""

    turn: Turn
    operation: str
    tier: Tier
    limits: Limits
    now: datetime


def append(connection: sqlite3.Connection, owner: Owner, new: Addition, read_at: datetime) -> Appended:
    """Append the turn and trim, unless the operation is known."""
    copy = _living(connection, owner, read_at)
    if copy is None:
        _delete_copy(connection, owner)
        copy = Copy()
    if (answer := _answer_of(connection, owner, new.operation)) is not None:
        return answer
    turn_id, count = _raised(new.turn.id, copy.last), copy.count + 1
    _insert_turns(connection, owner, [(turn_id, new.turn)])
    gone, tokens = _make_room(connection, owner, new.limits)
    answer = Appended(turn_id, count, tokens, trimmed=gone)
    _remember(connection, owner, new.operation, copy.appended, answer)
    _save(connection, owner, Copy(copy.whole, count, turn_id, copy.appended + 1), lifetime(new.tier, count), new.now)
    return answer


def load(connection: sqlite3.Connection, owner: Owner, boot: str, now: datetime) -> SessionCopy | None:
    """Return the copy, None if it is not whole or cannot be read."""
    copy = _living(connection, owner, now)
    if copy is None or copy.whole != boot:
        return None
    rows = connection.execute(f"SELECT id, text FROM turns WHERE {_ONE} ORDER BY id", owner).fetchall()
    try:
        turns = tuple(turn_from(turn_id, text) for turn_id, text in rows)
    except ValueError:
        return None
    return SessionCopy(turns, copy.count, sum(turn.token_count for turn in turns))


def fill(
    connection: sqlite3.Connection, owner: Owner, turns: Sequence[Turn], copy: Copy, life: timedelta, now: datetime
) -> bool:
    """Replace the turns at hand, unless one was appended that is not among these."""
    held = {turn.id for turn in turns}
    oldest = min(held, default=None)
    at_hand = connection.execute(
        f"SELECT id FROM turns WHERE {_ONE} UNION SELECT turn_id FROM operations WHERE {_ONE}", owner + owner
    ).fetchall()
    # The table is read newest first: what is older than the oldest of these was there and was left out.
    if any(turn_id not in held and (oldest is None or turn_id > oldest) for (turn_id,) in at_hand):
        return False
    connection.execute(f"DELETE FROM turns WHERE {_ONE}", owner)
    _insert_turns(connection, owner, [(turn.id, turn) for turn in turns])
    _save(connection, owner, copy, life, now)
    return True


def appended_so_far(connection: sqlite3.Connection, owner: Owner, now: datetime) -> int:
    """Return how many turns were appended to the copy; what has expired goes."""
    copy = _living(connection, owner, now)
    if copy is None:
        _delete_copy(connection, owner)
    return copy.appended if copy else 0


def drop(connection: sqlite3.Connection, owner: Owner) -> None:
    """Delete everything of the session."""
    _delete_copy(connection, owner)
    for table in ("states", "deadlines"):
        connection.execute(f"DELETE FROM {table} WHERE {_ONE}", owner)


def read_state(connection: sqlite3.Connection, owner: Owner, now: datetime) -> SharedState:
    """Return the shared state, version 0 if there is none."""
    row = connection.execute(
        f"SELECT version, value FROM states WHERE {_ONE} AND expires_at > ?", (*owner, now.timestamp())
    ).fetchone()
    return SharedState(None, 0) if row is None else SharedState(json.loads(row[1]), row[0])


def write_state(connection: sqlite3.Connection, owner: Owner, text: str, expected: int, now: datetime) -> int:
    """Replace the shared state and return its version.

    Raises:
        ConflictError: Another version is stored.
    """
    if read_state(connection, owner, now).version != expected:
        raise ConflictError(f"the shared state is no longer at version {expected}; read it again")
    expires_at = (now + STATE_LIFE).timestamp()
    # The mark tells apart two states with one version: after a session was dropped, versions begin anew.
    row = (*owner, expected + 1, secrets.token_bytes(8), text, expires_at)
    connection.execute("REPLACE INTO states VALUES (?, ?, ?, ?, ?, ?)", row)
    return expected + 1


def state_mark(connection: sqlite3.Connection, owner: Owner, now: datetime) -> tuple[int, bytes]:
    """Return the version of the shared state, with what no other write of it has."""
    row = connection.execute(
        f"SELECT version, mark FROM states WHERE {_ONE} AND expires_at > ?", (*owner, now.timestamp())
    ).fetchone()
    return row or (0, b"")


def due(connection: sqlite3.Connection, now: datetime, limit: int) -> list[Owner]:
    """Return whose deadline has passed, the longest overdue first."""
    return connection.execute(
        "SELECT user, session FROM deadlines WHERE moment <= ? ORDER BY moment, user, session LIMIT ?",
        (now.timestamp(), limit),
    ).fetchall()


def delete_expired(connection: sqlite3.Connection, now: datetime) -> None:
    """Delete what nobody can see any more."""
    moment = now.timestamp()
    gone = "(user, session) IN (SELECT user, session FROM sessions WHERE expires_at <= ?)"
    for table in ("turns", "operations", "sessions"):
        connection.execute(f"DELETE FROM {table} WHERE {gone}", (moment,))
    connection.execute("DELETE FROM states WHERE expires_at <= ?", (moment,))
    # Where nobody takes care of what is due, deadlines would be kept for ever.
    connection.execute("DELETE FROM deadlines WHERE moment <= ?", ((now - LIFE).timestamp(),))


def _living(connection: sqlite3.Connection, owner: Owner, now: datetime) -> Copy | None:
    row = connection.execute(
        f"SELECT whole, count, last, appended FROM sessions WHERE {_ONE} AND expires_at > ?", (*owner, now.timestamp())
    ).fetchone()
    return None if row is None else Copy(*row)


def _answer_of(connection: sqlite3.Connection, owner: Owner, operation: str) -> Appended | None:
    row = connection.execute(
        f"SELECT turn_id, count, tokens, trimmed FROM operations WHERE {_ONE} AND operation = ?", (*owner, operation)
    ).fetchone()
    if row is None:
        return None
    turn_id, count, tokens, gone = row
    return Appended(
        turn_id, count, tokens, repeated=True, trimmed=tuple(turn_from(name, text) for name, text in json.loads(gone))
    )


def _raised(proposed: str, last: str | None) -> str:
    return proposed if last is None or proposed > last else next_ulid(last)


def _insert_turns(connection: sqlite3.Connection, owner: Owner, turns: Sequence[tuple[str, Turn]]) -> None:
    connection.executemany(
        "INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?)",
        [(*owner, turn_id, turn.token_count, turn.importance, turn_text(turn)) for turn_id, turn in turns],
    )


def _make_room(connection: sqlite3.Connection, owner: Owner, limits: Limits) -> tuple[tuple[Turn, ...], int]:
    rows: list[tuple[str, int, float]] = connection.execute(
        f"SELECT id, tokens, importance FROM turns WHERE {_ONE} ORDER BY id", owner
    ).fetchall()
    places = trimmed([Weight(tokens, importance) for _, tokens, importance in rows], limits)
    gone = tuple(_take(connection, owner, rows[place][0]) for place in places)
    return gone, sum(tokens for _, tokens, _ in rows) - sum(turn.token_count for turn in gone)


def _take(connection: sqlite3.Connection, owner: Owner, turn_id: str) -> Turn:
    ((text,),) = connection.execute(
        f"DELETE FROM turns WHERE {_ONE} AND id = ? RETURNING text", (*owner, turn_id)
    ).fetchall()
    return turn_from(turn_id, text)


def _remember(connection: sqlite3.Connection, owner: Owner, operation: str, number: int, answer: Appended) -> None:
    gone = json.dumps([(turn.id, turn_text(turn)) for turn in answer.trimmed])
    connection.execute(
        "INSERT INTO operations VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*owner, operation, number, answer.turn_id, answer.count, answer.tokens, gone),
    )
    forgotten, no_longer_in_full = number - REMEMBERED_OPERATIONS, number - TOLD_IN_FULL
    connection.execute(f"DELETE FROM operations WHERE {_ONE} AND number <= ?", (*owner, forgotten))
    connection.execute(f"UPDATE operations SET trimmed = '[]' WHERE {_ONE} AND number = ?", (*owner, no_longer_in_full))


def _save(connection: sqlite3.Connection, owner: Owner, copy: Copy, life: timedelta, now: datetime) -> None:
    deadline = (now + life).timestamp()
    connection.execute(
        "REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*owner, copy.whole, copy.count, copy.last, copy.appended, deadline),
    )
    connection.execute("REPLACE INTO deadlines VALUES (?, ?, ?)", (*owner, deadline))
    state_expires_at = (now + STATE_LIFE).timestamp()
    connection.execute(
        f"UPDATE states SET expires_at = ? WHERE {_ONE} AND expires_at > ?",
        (state_expires_at, *owner, now.timestamp()),
    )


def _delete_copy(connection: sqlite3.Connection, owner: Owner) -> None:
    for table in ("sessions", "turns", "operations"):
        connection.execute(f"DELETE FROM {table} WHERE {_ONE}", owner)
