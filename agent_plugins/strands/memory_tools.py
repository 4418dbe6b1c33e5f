"""The memory tools as tools of Strands."""

from typing import Any

from strands.tools import PythonAgentTool
from strands.types.tools import ToolResult, ToolSpec, ToolUse

from agent_plugins.strands.identity import SessionResolver
from mcp_memory_server import MemoryTool


class MemoryAgentTool(PythonAgentTool):
    """A memory tool. Its replies are not saved as turns."""


def strands_tool(tool: MemoryTool, resolver: SessionResolver) -> MemoryAgentTool:
    """Return the tool for agents. It answers for the user of the invocation."""

    async def answer(tool_use: ToolUse, **invocation_state: Any) -> ToolResult:
        reply = await resolver.answer(tool, invocation_state, tool_use["input"] or {})
        # An error reply such as "not found" is no failure of the tool.
        status = "error" if reply.get("status") == "unavailable" else "success"
        return {"toolUseId": tool_use["toolUseId"], "status": status, "content": [{"json": reply}]}

    spec: ToolSpec = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"json": tool.input_schema},
        "annotations": dict(tool.hints),
    }
    return MemoryAgentTool(tool.name, spec, answer)  # pyright: ignore[reportArgumentType] - its type knows no async one
