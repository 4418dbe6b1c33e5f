"""What every open file of ours checks: that it is still in its place, and what an error of SQLite means for callers."""

import sqlite3
from pathlib import Path
from typing import TypeVar

from mcp_memory_server.adapters.sqlite.file import primary_code
from mcp_memory_server.adapters.sqlite.making import identity_of
from mcp_memory_server.errors import TableDamagedError, TableFullError, TableUnavailableError

DamageError = TypeVar("DamageError", TableDamagedError, TableUnavailableError)


class OpenedFile:
    """A file, and which one it was when it was opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identity = identity_of(path)

    def check_in_place(self) -> None:
        """Check that this is still the file under its name: SQLite would go on in one that nobody finds again.

        Raises:
            TableUnavailableError: It is not; what is kept there would be lost.
        """
        if identity_of(self._path) != self._identity:
            raise TableUnavailableError(
                f"{str(self._path)!r} was moved, deleted or replaced while in use; put it back or restart the server"
            )


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
