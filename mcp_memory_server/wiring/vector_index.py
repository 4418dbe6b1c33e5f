"""Opens the vector index that the settings name, for turns beyond those in the search index of a process."""

from typing import TYPE_CHECKING

from mcp_memory_server.addresses import DynamoDbTable, Nowhere, parse_table, parse_vector_index
from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.ports.embedder import Embedder
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.ports.vector_index import VectorIndex
from mcp_memory_server.schema.vector_entries import VECTOR_OWNER, vector_attribute
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring.packages import missing_package

if TYPE_CHECKING:
    from mcp_memory_server.adapters.dynamodb.vector_index_shape import VectorIndexShape


def open_vector_index(settings: Settings, embedder: Embedder | None, metrics: Metrics | None) -> VectorIndex | None:
    """Return the index that the settings name, None without one. No request is sent yet.

    Raises:
        ConfigurationError: Another setting contradicts it, or a package is missing or too old.
    """
    wanted = vector_index_shape(settings, embedder)
    table = parse_table(settings.table)
    if wanted is None or not isinstance(table, DynamoDbTable):
        return None
    from mcp_memory_server.adapters.dynamodb import vector_index

    index = vector_index.open_vector_index(
        table.name, wanted.name, wanted.owner, region=table.region, endpoint=table.endpoint
    )
    if metrics is None:
        return index
    from mcp_memory_server.adapters.opentelemetry.vector_index import MeasuredVectorIndex

    return MeasuredVectorIndex(index, metrics, engine="dynamodb")


def vector_index_shape(settings: Settings, embedder: Embedder | None) -> "VectorIndexShape | None":
    """Return the shape of the index that the settings name, None without one.

    Raises:
        ConfigurationError: Another setting contradicts it, or a package is missing.
    """
    index = parse_vector_index(settings.vector_index)
    if isinstance(index, Nowhere):
        return None
    if not isinstance(parse_table(settings.table), DynamoDbTable):
        raise ConfigurationError(
            "MCP_MEMORY_VECTOR_INDEX names an index of a table on DynamoDB; set "
            "MCP_MEMORY_TABLE=dynamodb://table?region=eu-west-1, or MCP_MEMORY_VECTOR_INDEX=none"
        )
    if embedder is None:
        raise ConfigurationError(
            "MCP_MEMORY_VECTOR_INDEX needs a model that makes vectors; MCP_MEMORY_EMBEDDINGS is none"
        )
    try:
        from mcp_memory_server.adapters.dynamodb.vector_index_shape import VectorIndexShape
    except ModuleNotFoundError as error:
        raise missing_package("dynamodb", error) from error
    return VectorIndexShape(index.name, vector_attribute(embedder.dimensions), VECTOR_OWNER, embedder.dimensions)
