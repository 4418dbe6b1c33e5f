"""The database file: made whole or not at all, and refused, untouched, when it is not ours or is damaged."""

import sqlite3
from contextlib import closing
from pathlib import Path

from mcp_memory_server.adapters.sqlite.files.making import FileKind, check_header, make_file
from mcp_memory_server.adapters.sqlite.rows import COLUMNS
from mcp_memory_server.errors import ConfigurationError, TableDamagedError

APPLICATION_ID = 0x4D656D31  # "Mem1" in the file's header distinguishes our files from anyone else's
FORMAT = 1
BUSY_TIMEOUT_SECONDS = 20.0

SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
CREATE TABLE items (
    pk TEXT NOT NULL,
    sk TEXT NOT NULL,
    version INTEGER NOT NULL,
    expires_at INTEGER,
    operations TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (pk, sk)
) WITHOUT ROWID;
CREATE INDEX expiring ON items (expires_at) WHERE expires_at IS NOT NULL;
"""

INDEX_PK, INDEX_SK = "json_extract(body, '$.ix_pk')", "json_extract(body, '$.ix_sk')"
# Made when a file is opened, so that files of earlier releases have it too.
INDEX = f"CREATE INDEX IF NOT EXISTS by_index ON items ({INDEX_PK}, {INDEX_SK}, pk, sk) WHERE {INDEX_PK} IS NOT NULL"


def prepare_file(path: Path) -> None:
    """Make the file if there is none, and make sure that an existing one is ours and can be read.

    Raises:
        ConfigurationError: The file cannot be made or opened there.
        TableDamagedError: It is damaged, from a newer release, or another program's. It was left untouched.
    """
    try:
        if not path.exists():
            make_file(path, SCHEMA + INDEX)
        check_header(path, MEMORY_FILE)
    except sqlite3.Error as error:
        raise ConfigurationError(f"cannot make the memory file {str(path)!r}: {error}") from error
    except OSError as error:
        raise ConfigurationError(
            f"cannot use {str(path)!r} as the memory file: {error.strerror}. Set "
            "MCP_MEMORY_TABLE=sqlite:///path/to/file to a file in a folder that you may write to"
        ) from error
    if not _has_index(path):
        with closing(connect(path)) as connection:
            connection.execute(INDEX)


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open one connection, durable on commit. Whoever opens it closes it."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}",
        uri=True,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,  # closed by the thread that closes the table
    )
    # FULL: a commit is on the disk before it is acknowledged. secure_delete: forgotten text is overwritten with zeros.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")
    return connection


def primary_code(error: Exception) -> int | None:
    """Return SQLite's code for what went wrong, None where Python noticed it: text that is not UTF-8 any more."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _has_index(path: Path) -> bool:
    # Read-only: closing such a connection writes nothing, so a damaged file stays as it is.
    try:
        with closing(connect(path, read_only=True)) as connection:
            connection.execute(f"SELECT {COLUMNS} FROM items LIMIT 1").fetchall()
            return bool(connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'by_index'").fetchall())
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if primary_code(error) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY):
            raise ConfigurationError(f"cannot open the memory file {str(path)!r}: {error}") from error
        raise TableDamagedError(f"{str(path)!r} is damaged: {error}. {_way_out(path)}") from error


def _way_out(path: Path) -> str:
    return (
        "It was left untouched. `mcp-memory-server repair` shows what can be saved of it, and saves that. "
        f"Restore it from a backup, or move it away: mv {str(path)!r} {str(path) + '.damaged'!r}"
        ", and a new one is made; or point MCP_MEMORY_TABLE at another file"
    )


MEMORY_FILE = FileKind("a memory file", APPLICATION_ID, FORMAT, TableDamagedError, _way_out)
