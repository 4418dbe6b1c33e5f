"""Describe a memory file, for its operator."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.errors import ConfigurationError


@dataclass(frozen=True)
class FileDescription:
    """A memory file."""

    path: str
    items: int
    size_bytes: int
    mode: str


async def describe_file(path: Path) -> FileDescription:
    """Open the file and describe it.

    Raises:
        ConfigurationError: There is none yet.
        TableDamagedError: It cannot be read. It was left untouched.
    """
    if not await asyncio.to_thread(path.exists):
        raise ConfigurationError(f"there is no memory file at {str(path)!r} yet; it is made when first used")
    table = await SqliteItemTable.open(path)
    try:
        items = await table.count()
    finally:
        await table.close()
    status = await asyncio.to_thread(path.stat)
    return FileDescription(str(path), items, status.st_size, f"{status.st_mode & 0o777:o}")
