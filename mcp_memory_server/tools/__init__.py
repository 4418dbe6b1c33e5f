"""The memory tools, independent of any framework: the description of each for a model, and the one call it makes.

The MCP server and the plugins offer these objects and define no tools of their own.
"""

from mcp_memory_server.tools.memory_tool import MemoryTool, Reply, error_reply, memory_tool
from mcp_memory_server.tools.memory_tools import MEMORY_TOOLS

__all__ = ["MEMORY_TOOLS", "MemoryTool", "Reply", "error_reply", "memory_tool"]
