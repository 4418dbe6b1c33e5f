"""The file of a session memory: a copy, so that a damaged one is made anew instead of being refused."""

import os
import sqlite3
import struct
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path

from mcp_memory_server.adapters.sqlite.file import connect
from mcp_memory_server.errors import ConfigurationError

APPLICATION_ID = 0x4D656D53  # "MemS" in the file's header tells our files from anyone else's
FORMAT = 1

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_OWNER_ONLY_FILE = 0o600
_OWNER_ONLY_FOLDER = 0o700

_SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
CREATE TABLE sessions (
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    whole TEXT,
    count INTEGER NOT NULL,
    last TEXT,
    appended INTEGER NOT NULL,
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
        if path.exists() and not _is_ours_and_sound(path):
            for leftover in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
                leftover.unlink(missing_ok=True)
        if not path.exists():
            _create(path)
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(f"cannot use {str(path)!r} for running sessions: {error}") from error


def this_boot() -> str | None:
    """Return what no other start of this machine has; None where that cannot be told."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def connect_to_sessions(path: Path, patience: timedelta) -> sqlite3.Connection:
    """Open one connection that waits for others no longer than this. Whoever opens it closes it."""
    connection = connect(path)
    if this_boot() is not None:
        # A power cut may take the last commits. They are not missed, because no copy is whole after another start of
        # the machine; where that cannot be told, every commit goes to the disk, which takes fifty times as long.
        connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA busy_timeout = {patience // timedelta(milliseconds=1)}")
    return connection


def _is_ours_and_sound(path: Path) -> bool:
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        raise ConfigurationError(f"{str(path)!r} is not a file of running sessions; move it away")
    user_version, application_id = struct.unpack(">60xI4xI28x", header)
    if application_id != APPLICATION_ID:
        raise ConfigurationError(f"{str(path)!r} is a database of another program; move it away")
    if user_version > FORMAT:
        raise ConfigurationError(f"{str(path)!r} was written by a newer release. Upgrade mcp-memory-server")
    try:
        with closing(connect(path, read_only=True)) as connection:
            return connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return False


def _create(path: Path) -> None:
    """Build the file under another name and link it into place, so that no process ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=_OWNER_ONLY_FOLDER)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, _OWNER_ONLY_FILE))
    try:
        with closing(sqlite3.connect(draft)) as connection:
            connection.executescript(_SCHEMA)
        with suppress(FileExistsError):  # another process was first; its file is as good
            os.link(draft, path)
    finally:
        for leftover in path.parent.glob(f"{draft.name}*"):
            leftover.unlink()
