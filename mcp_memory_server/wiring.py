"""Wiring: the only module that names an adapter."""

import importlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime

from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.memory import Memory
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.services.archive import Archive
from mcp_memory_server.services.chats import Chats
from mcp_memory_server.services.context import Context
from mcp_memory_server.services.conversations import Conversations
from mcp_memory_server.services.erasure import Erasure
from mcp_memory_server.services.facts import Facts
from mcp_memory_server.services.known_memories import KnownMemories
from mcp_memory_server.services.notes import Notes
from mcp_memory_server.services.preferences import Preferences
from mcp_memory_server.services.recall import Recall
from mcp_memory_server.services.tool_log import ToolLog
from mcp_memory_server.settings import DynamoDbTable, Settings, SqliteTable, parse_table, read_settings


def utc_now() -> datetime:
    """Return the time of day. Only wiring reads the clock; everything else is told."""
    return datetime.now(UTC)


@asynccontextmanager
async def open_memory(
    settings: Settings | None = None, *, now: Callable[[], datetime] = utc_now
) -> AsyncGenerator[Memory]:
    """Open the memory that the settings name, by default those of the environment, and close it at the end.

    Raises:
        ConfigurationError: A setting is wrong, or the package for the chosen table is not installed.
        TableDamagedError: The file is damaged or another program's. It was left untouched.
    """
    table = await open_table(settings or read_settings(), now=now)
    memory = assemble(table, now=now)
    try:
        yield memory
    finally:
        await memory.tool_log.close()
        await table.close()


def assemble(table: ItemTable, *, now: Callable[[], datetime] = utc_now) -> Memory:
    """Return the services over a table that is open already."""
    known = KnownMemories(table)
    return Memory(
        facts=Facts(table, known, now),
        preferences=Preferences(table, now),
        notes=Notes(table, now),
        recall=Recall(known, count_tokens, now),
        context=Context(known, count_tokens, now),
        conversations=Conversations(table, count_tokens, now),
        chats=Chats(table, now),
        tool_log=ToolLog(table, now),
        erasure=Erasure(table, known, now),
        archive=Archive(table, now),
        table=table,
    )


async def open_table(settings: Settings, *, now: Callable[[], datetime] = utc_now) -> ItemTable:
    """Open the table that the settings name. Whoever opens it closes it."""
    match parse_table(settings.table):
        case SqliteTable(path):
            # Adapters are imported where they are chosen: nobody loads boto3 to use SQLite.
            from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable

            return await SqliteItemTable.open(path, now=now)
        case DynamoDbTable(name, region, endpoint):
            try:
                from mcp_memory_server.adapters.dynamodb.item_table import open_dynamodb
            except ModuleNotFoundError as error:
                raise missing_package("dynamodb", error) from error
            return open_dynamodb(name, region=region, endpoint=endpoint, now=now)


async def create_table(settings: Settings, progress: Callable[[str], None]) -> Mapping[str, object]:
    """Make the table that the settings name, as it should be in production, and describe it."""
    table = _dynamodb_only(settings)
    from mcp_memory_server.adapters.dynamodb import tables

    description = await tables.create_table(table.name, region=table.region, endpoint=table.endpoint, progress=progress)
    return asdict(description)


async def describe_table(settings: Settings) -> Mapping[str, object]:
    """Tell what the table that the settings name is like."""
    match parse_table(settings.table):
        case SqliteTable(path):
            from mcp_memory_server.adapters.sqlite.description import describe_file

            return asdict(await describe_file(path))
        case DynamoDbTable():
            table = _dynamodb_only(settings)
            from mcp_memory_server.adapters.dynamodb import tables

            return asdict(await tables.describe_table(table.name, region=table.region, endpoint=table.endpoint))


async def delete_table(settings: Settings, progress: Callable[[str], None]) -> None:
    """Remove the table that the settings name, with everything in it."""
    table = _dynamodb_only(settings)
    from mcp_memory_server.adapters.dynamodb import tables

    await tables.delete_table(table.name, region=table.region, endpoint=table.endpoint, progress=progress)


def _dynamodb_only(settings: Settings) -> DynamoDbTable:
    match parse_table(settings.table):
        case DynamoDbTable() as table:
            try:
                importlib.import_module("boto3")
            except ModuleNotFoundError as error:
                raise missing_package("dynamodb", error) from error
            return table
        case SqliteTable(path):
            raise ConfigurationError(
                f"the memory is the file {str(path)!r}, which makes itself; to delete it, delete the file. For a table "
                "on AWS set MCP_MEMORY_TABLE=dynamodb://table?region=eu-west-1"
            )


def missing_package(extra: str, error: ModuleNotFoundError) -> ConfigurationError:
    """Return the error that says what to install."""
    package = (error.name or extra).partition(".")[0]
    return ConfigurationError(f"{package} is not installed; install it with: pip install 'mcp-memory-server[{extra}]'")
