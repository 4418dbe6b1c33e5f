"""Opens an existing memory: a command that only reads creates no file, least of all under a mistyped name."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_memory_server.addresses import SqliteTable, parse_table
from mcp_memory_server.cli import NothingSavedYetError
from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.memory import Memory
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring import open_memory
from mcp_memory_server.wiring.session_backends import outbox_file

DEFAULT_TABLE = "sqlite:"
HOW_IT_IS_MADE = "`mcp-memory-server remember` or `import` makes it, and so does a client that saves something"


def missing_file(settings: Settings) -> Path | None:
    """Return the memory file of the settings if it is one and does not exist."""
    match parse_table(settings.table):
        case SqliteTable(path) if not path.exists() and not outbox_file(settings).exists():
            return path
        case _:
            return None  # turns in an outbox will create the file


def is_default(path: Path) -> bool:
    """Return whether this is the default file."""
    return parse_table(DEFAULT_TABLE) == SqliteTable(path)


def may_be_made(path: Path) -> bool:
    """Return whether the existing parent folder allows the file to be created."""
    folder = next(parent for parent in path.parents if parent.exists())
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


@asynccontextmanager
async def open_existing(settings: Settings) -> AsyncGenerator[Memory]:
    """Open the memory that the settings name, without creating it.

    Raises:
        NothingSavedYetError: It would be in the default file, which does not exist yet.
        ConfigurationError: The settings name a file that does not exist.
    """
    settings.scope()  # an invalid user name is reported first
    path = missing_file(settings)
    if path is not None and is_default(path):
        raise NothingSavedYetError(f"Nothing is saved yet: there is no memory file at {str(path)!r}. {HOW_IT_IS_MADE}")
    if path is not None:
        raise ConfigurationError(
            f"there is no memory file at {str(path)!r}; check MCP_MEMORY_TABLE or --table. {HOW_IT_IS_MADE}"
        )
    async with open_memory(settings) as memory:
        yield memory
