"""Tools over a memory, free of any framework: what a model reads about each, and the one call that it makes.

The MCP server and the plugins offer these very objects; none of them defines a tool of its own.
"""

from mcp_memory_server.tools.memory_tool import MemoryTool, Reply, error_reply, memory_tool
from mcp_memory_server.tools.memory_tools import MEMORY_TOOLS

__all__ = ["MEMORY_TOOLS", "MemoryTool", "Reply", "error_reply", "memory_tool"]
