"""Read rows of which some cannot be read, and move those out of the way.

Each row has a checksum, so a row that was changed by anything but this program is recognised. It is returned as an item
with a `DamagedBody`: it costs itself, and not the rows beside it.
"""

import json
import sqlite3
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from mcp_memory_server.adapters.sqlite.files.file import INDEX
from mcp_memory_server.adapters.sqlite.rows import COLUMNS, LONGEST_NAME, Stored
from mcp_memory_server.domain.kernel.items import Key, expiry_seconds, quarantine_put
from mcp_memory_server.errors import TableDamagedError

_NAMES = COLUMNS.split(", ")


def read_rows(
    connection: sqlite3.Connection,
    statement: str,
    parameters: Sequence[Any],
    attributes: Collection[str] | None = None,
) -> list[Stored]:
    """Return the rows of a query, those included that cannot be read."""
    try:
        return [Stored.from_row(row, attributes) for row in connection.execute(statement, parameters)]
    except (TableDamagedError, sqlite3.OperationalError, UnicodeDecodeError) as error:
        if getattr(error, "sqlite_errorcode", None) is not None:
            raise
        return _one_by_one(connection, statement, parameters, attributes)


def quarantine(connection: sqlite3.Connection, key: Key, now: datetime) -> None:
    """Move a row that cannot be read to the quarantine, so that its key is free."""
    # The index was made from what the row said before it was damaged, so SQLite would look for its entry in vain; and
    # it cannot be made again while a body is no JSON any more, so such rows go as well.
    connection.execute("DROP INDEX IF EXISTS by_index")
    _quarantine_rows(connection, key, now)
    connection.execute(INDEX)


def erase(connection: sqlite3.Connection, key: Key, now: datetime) -> None:
    """Remove a row that cannot be read, for good."""
    connection.execute("DROP INDEX IF EXISTS by_index")
    connection.execute("DELETE FROM items WHERE pk = ? AND sk = ?", (key.pk, key.sk))
    _quarantine_rows(connection, key, now)  # others that the index cannot be made again with
    connection.execute(INDEX)


def _quarantine_rows(connection: sqlite3.Connection, key: Key, now: datetime) -> None:
    columns = ", ".join(f"CAST({name} AS BLOB)" for name in _NAMES)
    rows = connection.execute(
        f"SELECT {columns} FROM items WHERE (pk = ? AND sk = ?) OR NOT json_valid(body)", (key.pk, key.sk)
    ).fetchall()
    for raw in rows:
        connection.execute("DELETE FROM items WHERE CAST(pk AS BLOB) = ? AND CAST(sk AS BLOB) = ?", raw[:2])
        row = quarantined(raw, now).to_row()
        connection.execute(f"INSERT INTO items ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def quarantined(raw: Sequence[bytes | None], now: datetime) -> Stored:
    """Return the row that keeps what an unreadable one held."""
    pk, sk = (readable(part) for part in raw[:2])
    put = quarantine_put(Key(pk, sk), _as_text(raw), "its checksum does not match", now)
    return Stored(put.key, dict(put.body), 1, expiry_seconds(put.expires_at), (put.key.sk[-32:],))


def readable(part: object) -> str:
    """Return a part of a key as text, whatever it is."""
    text = part.decode(errors="replace") if isinstance(part, bytes) else str(part)
    return text[:LONGEST_NAME] or "?"


def _one_by_one(
    connection: sqlite3.Connection,
    statement: str,
    parameters: Sequence[Any],
    attributes: Collection[str] | None,
) -> list[Stored]:
    as_text = connection.text_factory
    connection.text_factory = bytes
    try:
        rows = connection.execute(statement, parameters).fetchall()
    finally:
        connection.text_factory = as_text
    return [_row_or_damage(row, attributes) for row in rows]


def _row_or_damage(row: Sequence[Any], attributes: Collection[str] | None) -> Stored:
    try:
        decoded: Any = tuple([part.decode() if isinstance(part, bytes) else part for part in row])
        return Stored.from_row(decoded, attributes)
    except (TableDamagedError, UnicodeDecodeError):
        return Stored.damaged(Key(readable(row[0]), readable(row[1])))


def _as_text(raw: Sequence[bytes | None]) -> bytes:
    parts = [None if part is None else part.decode(errors="surrogateescape") for part in raw]
    return json.dumps(dict(zip(_NAMES, parts, strict=True))).encode()
