"""The outbox file's shape: made whole or not at all, and refused, untouched, when it is not ours or is damaged."""

import sqlite3
from contextlib import closing
from pathlib import Path

from mcp_memory_server.adapters.sqlite.files.file import connect, primary_code
from mcp_memory_server.adapters.sqlite.files.making import FileKind, check_header, make_file
from mcp_memory_server.errors import TableUnavailableError

APPLICATION_ID = 0x4D656D4F  # "MemO" in the file's header distinguishes our files from anyone else's
FORMAT = 1

# The numbers are never used again, so that an old receipt cannot name a new turn.
_SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
CREATE TABLE turns (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    operation TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    queued_at TEXT NOT NULL,
    text BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due REAL NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX turns_by_operation ON turns (user, session, operation);
CREATE INDEX turns_in_line ON turns (user, session, number, due);
CREATE TABLE lines (
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    first INTEGER NOT NULL,
    due REAL NOT NULL DEFAULT 0,
    owner TEXT,
    until REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (user, session)
) WITHOUT ROWID;
CREATE INDEX lines_in_order ON lines (first);
CREATE TABLE letters (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    operation TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    queued_at TEXT NOT NULL,
    text BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    reason TEXT NOT NULL,
    died_at TEXT NOT NULL,
    times_taken INTEGER NOT NULL DEFAULT 0,
    held_until REAL NOT NULL DEFAULT 0
);
CREATE INDEX letters_by_user ON letters (user);
"""


def make_outbox_file(path: Path) -> None:
    """Make the file, unless it is there."""
    if not path.exists():
        make_file(path, _SCHEMA)


def check_outbox_file(path: Path) -> None:
    """Make sure that the file is ours and can be read.

    Raises:
        TableUnavailableError: It is damaged, from a newer release, or another program's. It was left untouched.
    """
    check_header(path, OUTBOX_FILE)
    # Read-only: closing such a connection writes nothing, so a damaged file stays as it is.
    with closing(connect(path, read_only=True)) as connection:
        try:
            for table in ("turns", "lines", "letters"):
                connection.execute(f"SELECT * FROM {table} LIMIT 0").fetchall()
        except sqlite3.OperationalError as error:
            if primary_code(error) != sqlite3.SQLITE_ERROR:
                raise
            raise TableUnavailableError(f"{str(path)!r} lacks a table: it is damaged. {way_out(path)}") from error


def way_out(path: Path) -> str:
    """Return what to do about a file that cannot be used."""
    return (
        "It was left untouched. Restore it from a backup, or keep it for someone who can read it and let a new one be "
        f"made: mv {str(path)!r} {str(path) + '.damaged'!r}"
    )


OUTBOX_FILE = FileKind("an outbox", APPLICATION_ID, FORMAT, TableUnavailableError, way_out)
