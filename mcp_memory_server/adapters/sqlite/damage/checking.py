"""Check a whole file: its structure, every row, and whether the index lists what the rows say."""

import logging
import sqlite3
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from mcp_memory_server.adapters.sqlite.damage.damaged_rows import readable
from mcp_memory_server.adapters.sqlite.damage.mending import mended
from mcp_memory_server.adapters.sqlite.rows import COLUMNS, Row, Stored
from mcp_memory_server.domain.kernel.items import Key, is_expired
from mcp_memory_server.errors import TableDamagedError

_ALL = f"SELECT {COLUMNS} FROM items"

logger = logging.getLogger(__name__)

Hidden = Mapping[str, frozenset[Key]]
"""The keys of rows that their partition does not list, because the damage moved them out of it."""


def check_file(connection: sqlite3.Connection, path: Path, now: datetime) -> Hidden:
    """Read everything. Return the rows that cannot be read and that no query of their partition would meet.

    Raises:
        TableDamagedError: Pages are damaged, so that any number of rows may be missing.
    """
    problems = [line for (line,) in connection.execute("PRAGMA quick_check(1)") if line != "ok"]
    if problems:
        raise _missing_rows(path, problems[0])
    damaged, is_ordered = _damaged(connection)
    if not is_ordered:  # a search stops short where a key was changed, and misses the rows behind it
        raise _missing_rows(path, "keys are not in their order")
    if not damaged:
        _check_index(connection)
    hidden: dict[str, set[Key]] = {}
    for raw in damaged:
        row = mended(raw)
        if not _is_met(raw, row, now):
            key = Key(row[0], row[1]) if row is not None else Key(readable(raw[0]), readable(raw[1]))
            hidden.setdefault(key.pk, set()).add(key)
    return {pk: frozenset(keys) for pk, keys in hidden.items()}


def _missing_rows(path: Path, problem: str) -> TableDamagedError:
    return TableDamagedError(
        f"{str(path)!r} is damaged ({problem}), so memories may be missing. It was left untouched. "
        "`mcp-memory-server repair` shows what can be saved, and saves it"
    )


def _damaged(connection: sqlite3.Connection) -> tuple[list[tuple[Any, ...]], bool]:
    """Return the rows that do not match their checksums, and whether all rows are in the order of their keys."""
    before: tuple[Any, ...] = ()
    try:
        for row in connection.execute(_ALL):
            Stored.check(row)
            if row[:2] <= before:
                return [], False
            before = row[:2]
    except (TableDamagedError, sqlite3.OperationalError, UnicodeDecodeError) as error:
        if getattr(error, "sqlite_errorcode", None) is not None:
            raise
        return _damaged_one_by_one(connection)
    return [], True


def _damaged_one_by_one(connection: sqlite3.Connection) -> tuple[list[tuple[Any, ...]], bool]:
    as_text, damaged = connection.text_factory, list[tuple[Any, ...]]()
    before, is_ordered = (b"", b""), True
    connection.text_factory = bytes
    try:
        for raw in connection.execute(_ALL):
            key = _bytes(raw[0]), _bytes(raw[1])
            is_ordered, before = is_ordered and before < key, key
            try:
                Stored.check(tuple(part.decode() if isinstance(part, bytes) else part for part in raw))
            except (TableDamagedError, UnicodeDecodeError):
                damaged.append(raw)
    finally:
        connection.text_factory = as_text
    return damaged, is_ordered


def _check_index(connection: sqlite3.Connection) -> None:
    if [line for (line,) in connection.execute("PRAGMA integrity_check(1)") if line != "ok"]:
        logger.warning("the index of the memory file was damaged, and is made again from its rows")
        connection.execute("REINDEX")


def _is_met(raw: tuple[Any, ...], row: Row | None, now: datetime) -> bool:
    is_shown = isinstance(raw[3], int | None) and not is_expired(raw[3], now)
    if row is None:
        return is_shown
    return raw[0] == row[0].encode() and raw[1] == row[1].encode() and (is_shown or is_expired(row[3], now))


def _bytes(part: object) -> bytes:
    return part if isinstance(part, bytes) else str(part).encode()
