"""Opens what repairing a memory needs."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.errors import ConfigurationError, TableDamagedError
from mcp_memory_server.memory import Memory
from mcp_memory_server.services.users.inspection import Damage, Inspection

__all__ = ["Damage", "SalvagedFile", "inspection_of", "salvaged_file"]


@dataclass(frozen=True)
class SalvagedFile:
    """What can be saved of a file. ``kept`` is where the damaged one is, if it was replaced."""

    is_damaged: bool
    problem: str
    rows: int
    mended: int
    lost: tuple[str, ...]
    kept: Path | None = None


def salvaged_file(path: Path, *, apply: bool) -> SalvagedFile:
    """Read the file, whatever its state; with ``apply``, put a new one in the place of a damaged one.

    Raises:
        ConfigurationError: It is in use, or of another program.
    """
    # Imported here: nobody else needs it.
    from mcp_memory_server.adapters.sqlite.damage.salvage import foreign_or_busy, rebuild, salvage

    if (reason := foreign_or_busy(path)) is not None:
        raise ConfigurationError(reason)
    problem, found = _problem(path), salvage(path)
    is_damaged = bool(problem) or found.is_damaged
    if not found.rows and is_damaged and apply:
        raise ConfigurationError(f"nothing can be read from {str(path)!r}, so it was left as it is; restore a backup")
    kept = rebuild(path, list(found.rows.values())) if apply and is_damaged else None
    return SalvagedFile(is_damaged, problem, len(found.rows), found.mended, tuple(found.lost), kept)


def inspection_of(memory: Memory) -> Inspection:
    """Return the inspection of the memory's table."""
    return Inspection(memory.table, utc_now)


def _problem(path: Path) -> str:
    from mcp_memory_server.adapters.sqlite.damage.checking import check_file
    from mcp_memory_server.adapters.sqlite.files.file import connect, prepare_file

    try:
        prepare_file(path)
        with closing(connect(path)) as connection:
            check_file(connection, path, utc_now())
    except (TableDamagedError, sqlite3.Error):
        return "its header, or pages of it, cannot be followed"
    return ""
