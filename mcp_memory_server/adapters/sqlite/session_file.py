"""The file of a session memory: a copy, so that a damaged one is made anew instead of being refused."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from mcp_memory_server.adapters.sqlite.file import connect
from mcp_memory_server.adapters.sqlite.making import header_of, make_file
from mcp_memory_server.errors import ConfigurationError

APPLICATION_ID = 0x4D656D53  # "MemS" in the file's header tells our files from anyone else's
FORMAT = 2

_SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
CREATE TABLE sessions (
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    run TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    since INTEGER NOT NULL,
    token TEXT NOT NULL,
    whole INTEGER NOT NULL,
    count INTEGER NOT NULL,
    total_tokens INTEGER NOT NULL,
    last TEXT NOT NULL,
    gap TEXT NOT NULL,
    summary TEXT NOT NULL,
    added INTEGER NOT NULL,
    expires_at REAL NOT NULL,
    PRIMARY KEY (user, session)
) WITHOUT ROWID;
CREATE TABLE turns (
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    id TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    importance REAL NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (user, session, id)
);
CREATE TABLE recorded (
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    id TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (user, session, id)
) WITHOUT ROWID;
CREATE TABLE operations (
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    operation TEXT NOT NULL,
    number INTEGER NOT NULL,
    turn_id TEXT NOT NULL,
    count INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    trimmed TEXT NOT NULL,
    PRIMARY KEY (user, session, operation)
);
CREATE UNIQUE INDEX operations_in_order ON operations (user, session, number);
CREATE TABLE states (
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    version INTEGER NOT NULL,
    mark BLOB NOT NULL,
    value TEXT NOT NULL,
    expires_at REAL NOT NULL,
    PRIMARY KEY (user, session)
);
CREATE TABLE deadlines (
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    moment REAL NOT NULL,
    PRIMARY KEY (user, session)
) WITHOUT ROWID;
CREATE INDEX deadlines_in_order ON deadlines (moment, user, session);
"""


def prepare_session_file(path: Path) -> None:
    """Make the file if there is none, or none that can be used.

    Raises:
        ConfigurationError: The file cannot be made or opened there, is another program's, or from a newer release.
    """
    try:
        if path.exists() and not _can_be_used(path):
            for leftover in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
                leftover.unlink(missing_ok=True)
        if not path.exists():
            make_file(path, _SCHEMA)
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(f"cannot use {str(path)!r} for running sessions: {error}") from error


def this_boot() -> str | None:
    """Return what no other start of this machine has; None where that cannot be told."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def connect_to_sessions(path: Path, timeout: timedelta) -> sqlite3.Connection:
    """Open one connection that waits for others no longer than this. Whoever opens it closes it."""
    connection = connect(path)
    if this_boot() is not None:
        # A power cut may take the last commits. They are not missed, because no copy is whole after another start of
        # the machine; where that cannot be told, every commit goes to the disk, which takes fifty times as long.
        connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA busy_timeout = {timeout // timedelta(milliseconds=1)}")
    return connection


def _can_be_used(path: Path) -> bool:
    header = header_of(path)
    if header is None:
        raise ConfigurationError(f"{str(path)!r} is not a file of running sessions; move it away")
    if header.application_id != APPLICATION_ID:
        raise ConfigurationError(f"{str(path)!r} is a database of another program; move it away")
    if header.user_version > FORMAT:
        raise ConfigurationError(f"{str(path)!r} was written by a newer release. Upgrade mcp-memory-server")
    if header.user_version < FORMAT:
        return False
    try:
        with closing(connect(path, read_only=True)) as connection:
            return connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return False
