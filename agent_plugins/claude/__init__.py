"""Claude's own memory tool (``memory_20250818``) on the same memory, for programs on the Messages API."""

from agent_plugins.claude.memory_tool import AsyncMemoryTool, MemoryTool

__all__ = ["AsyncMemoryTool", "MemoryTool"]
