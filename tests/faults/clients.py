"""Servers as processes of their own, reached as a client reaches them."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from mcp_memory_server import Fact, Scope, Settings, open_memory

ROOT = Path(__file__).parents[2]
USER = "ana"


def environment(table: str) -> dict[str, str]:
    own = {"MCP_MEMORY_TABLE": table, "MCP_MEMORY_USER": USER, "PYTHONPATH": str(ROOT)}
    return {**os.environ, **own}


def server_on(table: str, *arguments: str) -> StdioServerParameters:
    """Return how a server on this table is started."""
    return StdioServerParameters(
        command=sys.executable, args=["-m", "mcp_memory_server", *arguments], env=environment(table)
    )


@asynccontextmanager
async def served(table: Path) -> AsyncGenerator[Client]:
    async with Client(server_on(f"sqlite://{table}")) as client:
        yield client


async def remember(client: Client, fact: str, **more: Any) -> str:
    """Save a fact and return its id: from here on it is acknowledged."""
    answer = await client.call_tool("remember_fact", {"fact": fact, **more})
    if answer.is_error or answer.structured_content is None:
        raise AssertionError(f"not saved: {answer.content}")
    return answer.structured_content["id"]


async def stored_facts(table: Path) -> list[Fact]:
    async with open_memory(Settings(table=f"sqlite://{table}", user=USER)) as memory:
        return await memory.facts.all(Scope(USER))
