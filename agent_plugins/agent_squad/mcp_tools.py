"""Tools of MCP servers, from the tool provider of Agent Squad."""

import sys
from collections.abc import Mapping
from typing import Any

from agent_squad.utils import AgentTool, AgentTools, ToolResult

from mcp_memory_server import InvalidRequestError

FAILED = ("Tool error:", "Tool returned an error", "Error calling tool")
"""How the answer of a failed tool begins: the provider raises nothing."""

_MODULE = "agent_squad.tools.mcp_tool_provider"


def is_mcp_provider(tools: AgentTools) -> bool:
    """Return whether these are the tools of MCP servers, without importing the package mcp for others."""
    module = sys.modules.get(_MODULE)
    return module is not None and isinstance(tools, module.MCPToolProvider)


def mcp_tools(provider: Any) -> list[AgentTool]:
    """Return the tools of a provider as a list; it has them only in the formats of model APIs.

    Raises:
        InvalidRequestError: It is not connected, or its servers have no tools.
    """
    described = provider.to_claude_format()
    if not described:
        raise InvalidRequestError(
            "this MCPToolProvider has no tools: make it with `await MCPToolProvider.create([…])`, which connects it"
        )
    return [_tool(provider, one["name"], one["description"], one["input_schema"]) for one in described]


def _tool(provider: Any, name: str, description: str, schema: Mapping[str, Any]) -> AgentTool:
    async def call(**arguments: Any) -> ToolResult:
        return await provider._call_mcp_tool(name, arguments)  # it has no public method for one call

    tool = AgentTool(
        name, description or name, {"": {}}, func=call
    )  # Agent Squad takes no properties for "look at func"
    tool.properties, tool.required = dict(schema.get("properties") or {}), list(schema.get("required") or [])
    return tool
