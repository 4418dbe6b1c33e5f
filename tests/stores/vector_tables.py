"""Tables with a vector index, and turns that are entered in it."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mcp_memory_server.adapters.dynamodb.item_table import open_dynamodb
from mcp_memory_server.adapters.dynamodb.tables import create_table
from mcp_memory_server.adapters.dynamodb.vector_index_shape import VectorIndexShape
from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.vectors import as_vector
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.turn_records import turn_key
from mcp_memory_server.schema.vector_entries import VECTOR_OWNER, entry_body, vector_attribute
from tests.engines.vector_endpoint import VectorEndpoint
from tests.stores.tables import PATIENCE

INDEX = "nearby"
MODEL = "small"
DIMENSIONS = 3


def shape(dimensions: int = DIMENSIONS, name: str = INDEX) -> VectorIndexShape:
    return VectorIndexShape(name, vector_attribute(dimensions), VECTOR_OWNER, dimensions)


def new_name() -> str:
    return f"vectors-{uuid.uuid4().hex}"


@dataclass(frozen=True)
class VectorTable:
    """A table whose turns can be found by their vectors."""

    endpoint: VectorEndpoint
    name: str
    items: ItemTable

    async def enter(self, user: str, turn_id: str, *direction: float, model: str = MODEL) -> Key:
        """Write a turn that lies in this direction."""
        key = turn_key(Scope(user, "talk"), turn_id)
        await self.items.put(Put(key, {"content": turn_id, **entry_body(user, as_vector(direction), model)}))
        return key


@asynccontextmanager
async def vector_table(behind: str, *, made_with_index: bool = True) -> AsyncIterator[VectorTable]:
    """Make a table before which the endpoint stands that knows vectors."""
    async with VectorEndpoint(behind) as endpoint:
        name = new_name()
        wanted = shape() if made_with_index else None
        await create_table(name, endpoint=endpoint.endpoint, progress=lambda _: None, vector_index=wanted)
        items = open_dynamodb(name, endpoint=endpoint.endpoint, deadline=PATIENCE)
        yield VectorTable(endpoint, name, items)
        await items.close()
