"""What every open file of ours checks: that it is still in its place, and what an error of SQLite means for callers."""

import logging
import sqlite3
from pathlib import Path
from typing import TypeVar

from mcp_memory_server.adapters.sqlite.files.file import primary_code
from mcp_memory_server.adapters.sqlite.files.making import identity_of
from mcp_memory_server.errors import TableDamagedError, TableFullError, TableUnavailableError

logger = logging.getLogger(__name__)

DamageError = TypeVar("DamageError", TableDamagedError, TableUnavailableError)


class LogLostError(TableUnavailableError):
    """The write-ahead log was deleted or replaced while it was in use."""


class OpenedFile:
    """A file and its write-ahead log, and which ones they were when they were opened."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """``connection`` stays open as long as the file is used: so long, SQLite itself never deletes the log."""
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._identity = identity_of(path)
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()  # this opens the log, or makes it
        self._log_identity = identity_of(self._log)

    def check_in_place(self) -> None:
        """Check that this is still the file under its name: SQLite would go on in one that nobody finds again.

        Raises:
            LogLostError: The log is not; what it holds is lost when the process ends, unless it was moved to the file.
            TableUnavailableError: The file is not; what is kept there would be lost.
        """
        if identity_of(self._path) != self._identity:
            raise TableUnavailableError(
                f"{str(self._path)!r} was moved, deleted or replaced while in use; put it back or restart the server"
            )
        if self._log_identity is not None and identity_of(self._log) != self._log_identity:
            raise LogLostError(f"{str(self._log)!r} was deleted or replaced while in use; restart the server")

    def move_log(self, connection: sqlite3.Connection) -> None:
        """Copy what a deleted log holds into the file, as long as this process still has the log open."""
        if self._log.exists():
            return  # another process began a new one, and the two do not fit together
        moved = connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
        level = logging.WARNING if moved[0] == 0 else logging.ERROR
        logger.log(level, "%s was deleted; its content is %s the file", self._log, "in" if moved[0] == 0 else "not in")


def error_from(
    error: Exception, path: Path, damaged: DamageError
) -> DamageError | TableUnavailableError | TableFullError:
    """Return our error for one of SQLite, or of Python while it decodes text; ``damaged`` is that of a damaged file.

    It never has the words of an error about text that cannot be decoded: they quote it.
    """
    code = primary_code(error)
    if code == sqlite3.SQLITE_FULL:
        return TableFullError(f"no room left to write in {str(path.parent)!r}; free some and try again")
    if code in (None, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damaged
    return TableUnavailableError(f"SQLite could not use {str(path)!r}: {error}")
