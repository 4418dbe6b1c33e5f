"""The memory tools as Strands describes and calls them."""

from typing import Any

from strands.tools import PythonAgentTool
from strands.types.tools import ToolResult, ToolSpec, ToolUse

from agent_plugins.strands.identity import NamedSessions
from mcp_memory_server import MemoryTool


def offered(tool: MemoryTool, named: NamedSessions) -> PythonAgentTool:
    """Return the tool for agents. It answers for whoever the invocation belongs to."""

    async def answer(tool_use: ToolUse, **invocation_state: Any) -> ToolResult:
        reply = await named.answer(tool, invocation_state, tool_use["input"] or {})
        # An answer that is not the wanted one, such as "not found", is no failure of the tool.
        status = "error" if reply.get("status") == "unavailable" else "success"
        return {"toolUseId": tool_use["toolUseId"], "status": status, "content": [{"json": reply}]}

    spec: ToolSpec = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"json": tool.input_schema},
        "annotations": dict(tool.hints),
    }
    return PythonAgentTool(tool.name, spec, answer)  # pyright: ignore[reportArgumentType] - its type knows no async one
