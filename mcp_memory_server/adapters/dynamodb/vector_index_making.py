"""Adds a vector index to an existing table."""

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from mcp_memory_server.adapters.dynamodb.calls import Calls
from mcp_memory_server.adapters.dynamodb.vector_index_shape import VectorIndexShape
from mcp_memory_server.errors import ConfigurationError

LONGEST_WAIT = timedelta(minutes=10)
BETWEEN_LOOKS = timedelta(seconds=1)


async def index_vectors(calls: Calls, wanted: VectorIndexShape, progress: Callable[[str], None]) -> str:
    """Add the index if it is missing, wait until it can be searched, and report progress.

    Raises:
        ConfigurationError: The table is not on demand, or has another index of this name.
    """
    table = await _described(calls)
    if wanted.found_in(table) is None:
        progress(f"adding the vector index {wanted.name!r}: {wanted.dimensions} dimensions")
        await _add(calls, wanted, table)
    elif (misfit := wanted.misfit(table)) is not None:
        raise ConfigurationError(
            f"the vector index {wanted.name!r} of {calls.address} does not fit: {misfit}. Nothing about an index can "
            "be changed: name another one in MCP_MEMORY_VECTOR_INDEX, and delete this one when it is no longer used"
        )
    end = time.monotonic() + LONGEST_WAIT.total_seconds()
    while not wanted.is_ready(await _described(calls)):
        if time.monotonic() > end:
            return f"the vector index {wanted.name!r} is still being built; `tables describe` shows when it is ready"
        await asyncio.sleep(BETWEEN_LOOKS.total_seconds())
    return f"the vector index {wanted.name!r} is ready: new turns are entered with their write, earlier ones when read"


async def _add(calls: Calls, wanted: VectorIndexShape, table: dict[str, Any]) -> None:
    if table.get("BillingModeSummary", {}).get("BillingMode") != "PAY_PER_REQUEST":
        raise ConfigurationError(f"{calls.address} is not on demand, and only such a table can have a vector index")
    request = {
        "TableName": calls.address.name,
        "AttributeDefinitions": [*table["AttributeDefinitions"], *wanted.attribute_definitions],
        "VectorIndexUpdates": [{"Create": wanted.definition}],
    }
    await calls.send("update_table", request, calls.start())


async def _described(calls: Calls) -> dict[str, Any]:
    return (await calls.send("describe_table", {"TableName": calls.address.name}, calls.start()))["Table"]
