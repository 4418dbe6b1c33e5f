"""Opens the table that the settings name; creates, describes and deletes one on AWS."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from mcp_memory_server.addresses import DaxTable, DynamoDbTable, Nowhere, SqliteTable, parse_table, parse_vector_index
from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring.embeddings import open_coarse_embedder
from mcp_memory_server.wiring.packages import missing_package
from mcp_memory_server.wiring.vector_index import vector_index_shape

if TYPE_CHECKING:
    from mcp_memory_server.adapters.dynamodb.vector_index_shape import VectorIndexShape


async def open_table(settings: Settings, *, now: Callable[[], datetime], metrics: Metrics | None = None) -> ItemTable:
    """Open the table that the settings name. The caller closes it."""
    match parse_table(settings.table):
        case SqliteTable(path):
            # Adapters are imported where they are chosen: nobody loads boto3 to use SQLite.
            from mcp_memory_server.adapters.sqlite.files.session_file import delete_session_file
            from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable

            table = await SqliteItemTable.open(path, now=now)
            delete_session_file(path)
            return table
        case DynamoDbTable(name, region, endpoint):
            try:
                from mcp_memory_server.adapters.dynamodb.item_table import open_dynamodb
            except ModuleNotFoundError as error:
                raise missing_package("dynamodb", error) from error
            return open_dynamodb(name, region=region, endpoint=endpoint, now=now)
        case DaxTable(cluster, table, item_seconds):
            try:
                from mcp_memory_server.adapters.dax.item_table import open_dax
            except ModuleNotFoundError as error:
                raise missing_package("dax", error) from error
            return open_dax(
                cluster,
                table.name,
                region=table.region,
                endpoint=table.endpoint,
                item_ttl=timedelta(seconds=item_seconds),
                metrics=metrics,
                now=now,
            )


def cached_reads(settings: Settings, table: ItemTable) -> ItemTable:
    """Return the table for reads that may come from a cache in front of it; the table itself if there is none."""
    match parse_table(settings.table):
        case DaxTable(fresh_for_all=False):
            from mcp_memory_server.adapters.dax.item_table import DaxItemTable

            return table.cached_reads() if isinstance(table, DaxItemTable) else table
        case _:
            return table


async def check_cluster(settings: Settings) -> str | None:
    """Check that the DAX cluster of the settings answers, and return its address; None if there is none.

    Raises:
        TableUnavailableError: The cluster does not answer.
    """
    match parse_table(settings.table):
        case DaxTable(cluster, table):
            from mcp_memory_server.adapters.dax import cluster as dax
            from mcp_memory_server.adapters.dynamodb.item_table import DEADLINE

            await dax.check_cluster(cluster, region=table.region, deadline=DEADLINE)
            return cluster
        case _:
            return None


async def create_table(settings: Settings, progress: Callable[[str], None]) -> Mapping[str, object]:
    """Create the table that the settings name, with production settings, and describe it."""
    table, vector_index = _dynamodb_only(settings), await _vector_index(settings)
    from mcp_memory_server.adapters.dynamodb import tables

    description = await tables.create_table(
        table.name, region=table.region, endpoint=table.endpoint, progress=progress, vector_index=vector_index
    )
    return asdict(description)


async def describe_table(settings: Settings) -> Mapping[str, object]:
    """Describe the table that the settings name."""
    match parse_table(settings.table):
        case SqliteTable(path):
            from mcp_memory_server.adapters.sqlite.description import describe_file

            return asdict(await describe_file(path))
        case DynamoDbTable() | DaxTable():
            table = _dynamodb_only(settings)
            from mcp_memory_server.adapters.dynamodb import tables

            return asdict(await tables.describe_table(table.name, region=table.region, endpoint=table.endpoint))


async def vector_index_misfit(settings: Settings) -> str | None:
    """Return in words why the vector index of the settings cannot be searched; None if it can, or there is none."""
    vector_index = await _vector_index(settings)
    if vector_index is None:
        return None
    table = _dynamodb_only(settings)
    from mcp_memory_server.adapters.dynamodb import tables

    return await tables.vector_index_misfit(table.name, vector_index, region=table.region, endpoint=table.endpoint)


async def delete_table(settings: Settings, progress: Callable[[str], None]) -> None:
    """Delete the table that the settings name, with everything in it."""
    table = _dynamodb_only(settings)
    from mcp_memory_server.adapters.dynamodb import tables

    await tables.delete_table(table.name, region=table.region, endpoint=table.endpoint, progress=progress)


async def _vector_index(settings: Settings) -> "VectorIndexShape | None":
    if isinstance(parse_vector_index(settings.vector_index), Nowhere):
        return None  # no model needs to be opened
    embedder = await open_coarse_embedder(settings)
    try:
        return vector_index_shape(settings, embedder)
    finally:
        if embedder is not None:
            await embedder.close()


def _dynamodb_only(settings: Settings) -> DynamoDbTable:
    match parse_table(settings.table):
        # The table itself is managed on DynamoDB, not through DAX.
        case (DynamoDbTable() as table) | DaxTable(table=table):
            try:
                importlib.import_module("boto3")
            except ModuleNotFoundError as error:
                raise missing_package("dynamodb", error) from error
            return table
        case SqliteTable(path):
            raise ConfigurationError(
                f"the memory is the file {str(path)!r}, created when needed; to delete it, delete the file. For a "
                "table on AWS set MCP_MEMORY_TABLE=dynamodb://table?region=eu-west-1"
            )
