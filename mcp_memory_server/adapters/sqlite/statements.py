"""What is asked of the file, in SQL. All of it runs in the thread that owns the connection."""

import math
import sqlite3
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from mcp_memory_server.adapters.sqlite.damage.damaged_rows import erase, quarantine, read_rows
from mcp_memory_server.adapters.sqlite.files.file import INDEX_PK, INDEX_SK
from mcp_memory_server.adapters.sqlite.rows import COLUMNS, Stored
from mcp_memory_server.domain.kernel.index_cursors import IndexPlace
from mcp_memory_server.domain.kernel.item_checks import checked_body
from mcp_memory_server.domain.kernel.items import (
    REMEMBERED_OPERATIONS,
    Delete,
    Key,
    Put,
    Update,
    Value,
    Write,
    after_prefix,
    after_push,
    expiry_seconds,
)
from mcp_memory_server.errors import ConflictError, InvalidRequestError, TableDamagedError

Parameters = tuple[str | float, ...]

KEPT_EXPIRED = timedelta(days=7)
"""So long an expired item stays in the file, hidden, in case the clock is wrong."""
NOTED_AGAIN = timedelta(days=1)

_ALIVE = "(expires_at IS NULL OR expires_at > ?)"


def find(
    connection: sqlite3.Connection, key: Key, now: datetime, attributes: Collection[str] | None = None
) -> Stored | None:
    """Return the row, with only these attributes if they are given; None if there is none or it has expired."""
    statement = f"SELECT {COLUMNS} FROM items WHERE pk = ? AND sk = ? AND {_ALIVE}"
    rows = read_rows(connection, statement, (key.pk, key.sk, now.timestamp()), attributes)
    return rows[0] if rows else None


def select(
    pk: str, prefix: str, between: tuple[str, str] | None, cursor: str | None, now: datetime, *, descending: bool
) -> tuple[str, Parameters]:
    """Return the query for living rows of one partition, without its limit."""
    conditions: list[tuple[str, str | float]] = [("pk = ?", pk), (_ALIVE, now.timestamp())]
    first, last = between or (prefix, None)
    if first:
        conditions.append(("sk >= ?", first))
    if last is not None:
        conditions.append(("sk <= ?", last))
    elif (end := after_prefix(prefix)) is not None:
        conditions.append(("sk < ?", end))
    if cursor is not None:
        conditions.append(("sk < ?" if descending else "sk > ?", cursor))
    where = " AND ".join([condition for condition, _ in conditions])
    order = "DESC" if descending else "ASC"
    return f"SELECT {COLUMNS} FROM items WHERE {where} ORDER BY sk {order}", tuple([value for _, value in conditions])


def select_index(index_pk: str, prefix: str, after: IndexPlace | None, *, descending: bool) -> tuple[str, Parameters]:
    """Return the query for entries of the index, without its limit."""
    conditions = [f"{INDEX_PK} = ?", f"{INDEX_PK} IS NOT NULL"]
    values: list[str | float] = [index_pk]
    if prefix:
        conditions.append(f"{INDEX_SK} >= ?")
        values.append(prefix)
    if (end := after_prefix(prefix)) is not None:
        conditions.append(f"{INDEX_SK} < ?")
        values.append(end)
    if after is not None:
        conditions.append(f"({INDEX_SK}, pk, sk) {'<' if descending else '>'} (?, ?, ?)")
        values += [after.index_sk, after.key.pk, after.key.sk]
    order = ", ".join(f"{column} {'DESC' if descending else 'ASC'}" for column in (INDEX_SK, "pk", "sk"))
    where = " AND ".join(conditions)
    return f"SELECT {INDEX_SK}, pk, sk FROM items WHERE {where} ORDER BY {order}", tuple(values)


def select_keys(after: Key | None, now: datetime) -> tuple[str, Parameters]:
    """Return the query for the keys of all living rows, without its limit."""
    condition, values = (" AND (pk, sk) > (?, ?)", (after.pk, after.sk)) if after is not None else ("", ())
    return f"SELECT pk, sk FROM items WHERE {_ALIVE}{condition} ORDER BY pk, sk", (now.timestamp(), *values)


def apply_all(connection: sqlite3.Connection, writes: Sequence[Write], operation: str, now: datetime) -> list[Stored]:
    """Make the writes, unless a row knows the operation already, and return the rows after it.

    A deletion returns the row that was there, or one of version 0.

    Raises:
        ConflictError: A stored version is not the expected one.
    """
    before = [find(connection, write.key, now) or _absent(write.key) for write in writes]
    if any(operation in row.operations for row in before):
        return before
    return [_apply(connection, write, row, operation, now) for write, row in zip(writes, before, strict=True)]


def delete_expired(connection: sqlite3.Connection, now: datetime) -> None:
    """Remove what expired. Most of the time there is nothing, and then nothing is locked."""
    condition = "expires_at IS NOT NULL AND expires_at <= ?"
    if connection.execute(f"SELECT 1 FROM items WHERE {condition} LIMIT 1", (now.timestamp(),)).fetchone():
        connection.execute(f"DELETE FROM items WHERE {condition}", (now.timestamp(),))


def delete_long_expired(connection: sqlite3.Connection, now: datetime) -> None:
    """Remove what was seen to be expired `KEPT_EXPIRED` ago, and note at most once a day when something was seen.

    A clock that is wrong at one start therefore hides items, and deletes none: they are back when the clock is right.
    """
    moment = math.floor(now.timestamp())
    condition = "expires_at IS NOT NULL AND expires_at <= ?"
    if not connection.execute(f"SELECT 1 FROM items WHERE {condition} LIMIT 1", (moment,)).fetchone():
        return
    connection.execute("CREATE TABLE IF NOT EXISTS sweeps (at INTEGER PRIMARY KEY)")  # files of earlier releases too
    long_ago = moment - math.ceil(KEPT_EXPIRED.total_seconds())
    (seen,) = connection.execute("SELECT max(at) FROM sweeps WHERE at <= ?", (long_ago,)).fetchone()
    if seen is not None:
        connection.execute(f"DELETE FROM items WHERE {condition}", (seen,))
        connection.execute("DELETE FROM sweeps WHERE at < ?", (seen,))
    day_ago = moment - math.ceil(NOTED_AGAIN.total_seconds())
    if not connection.execute("SELECT 1 FROM sweeps WHERE at > ? AND at <= ?", (day_ago, moment)).fetchone():
        connection.execute("INSERT OR IGNORE INTO sweeps VALUES (?)", (moment,))


def _absent(key: Key) -> Stored:
    return Stored(key, {}, 0, None, ())


def _apply(connection: sqlite3.Connection, write: Write, before: Stored, operation: str, now: datetime) -> Stored:
    if write.expected_version is not None and write.expected_version != before.version:
        raise ConflictError(f"expected version {write.expected_version}, found {before.version or 'nothing'}")
    if before.is_damaged and not isinstance(write, Delete):
        if isinstance(write, Update) and not write.may_start_anew:
            raise TableDamagedError(before.reason)
        quarantine(connection, write.key, now)
        before = _absent(write.key)
    if isinstance(write, Delete):
        _delete(connection, write, before, now)
        return before
    row = _put(write, before, operation) if isinstance(write, Put) else _updated(write, before, operation)
    connection.execute(f"INSERT OR REPLACE INTO items ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", row.to_row())
    return row


def _delete(connection: sqlite3.Connection, write: Delete, before: Stored, now: datetime) -> None:
    if not before.is_damaged:
        if before.version:
            connection.execute("DELETE FROM items WHERE pk = ? AND sk = ?", (write.key.pk, write.key.sk))
    elif write.expected_version is None:
        erase(connection, write.key, now)
    else:
        raise TableDamagedError(before.reason)


def _put(write: Put, before: Stored, operation: str) -> Stored:
    return Stored(write.key, dict(write.body), before.version + 1, expiry_seconds(write.expires_at), (operation,))


def _updated(write: Update, before: Stored, operation: str) -> Stored:
    body = {name: value for name, value in before.body.items() if name not in write.remove}
    body |= {**write.set, **after_push(before.body, write.push)}
    for name, amount in write.add.items():
        body[name] = _sum(name, body.get(name, 0), amount)
    return Stored(
        write.key,
        checked_body(write.key, body),
        before.version + 1,
        expiry_seconds(write.expires_at) if write.expires_at else before.expires_at,
        (operation, *before.operations)[:REMEMBERED_OPERATIONS],
    )


def _sum(name: str, value: Value, amount: float) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRequestError(f"attribute {name!r} holds no number, so it cannot be raised")
    return value + amount
