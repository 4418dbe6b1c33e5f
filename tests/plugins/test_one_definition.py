"""A tool is the same wherever a model meets it: over MCP, in Strands, in Agent Squad."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from agent_plugins.agent_squad import memory_tools
from agent_plugins.memory.memory_tools import MORE_CONTEXT
from agent_plugins.strands import MemoryPlugin
from mcp_memory_server import MEMORY_TOOLS, Memory, Scope, Settings, open_memory
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import always

Described = dict[str, tuple[str, dict[str, Any], dict[str, bool]]]
DEFINED: Described = {tool.name: (tool.description, tool.input_schema, tool.hints) for tool in MEMORY_TOOLS}
FOR_AGENTS: Described = {**DEFINED, "load_context": (MORE_CONTEXT, *DEFINED["load_context"][1:])}


@pytest.mark.anyio
async def test_the_server_lists_what_is_defined(tmp_path: Path) -> None:
    async with open_memory(Settings(table=f"sqlite://{tmp_path}/memory.db")) as memory:
        assert await _listed(memory) == DEFINED


def test_an_agent_of_strands_gets_what_is_defined() -> None:
    specs = [tool.tool_spec for tool in MemoryPlugin("ana").tools]

    described = {
        spec["name"]: (spec["description"], spec["inputSchema"]["json"], spec.get("annotations", {})) for spec in specs
    }
    assert described == FOR_AGENTS


def test_an_agent_of_agent_squad_gets_what_is_defined() -> None:
    offered = {tool.name: (tool.func_description, tool.properties, tool.required) for tool in memory_tools()}

    assert offered == {
        name: (description, schema["properties"], schema.get("required", []))
        for name, (description, schema, _hints) in FOR_AGENTS.items()
    }


async def _listed(memory: Memory) -> Described:
    async with Client(build_server(memory, always(Scope("ana")))) as client:
        tools = (await client.list_tools()).tools
    dumped = [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools]
    return {tool["name"]: (tool["description"], tool["inputSchema"], tool["annotations"]) for tool in dumped}
