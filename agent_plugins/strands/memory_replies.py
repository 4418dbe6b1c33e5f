"""Which answers of tools are replies of a memory. They are not saved as turns: what is forgotten would come back."""

from collections.abc import Collection
from typing import Any

from strands.types.content import Message

from agent_plugins.memory.agent_tools import AGENT_TOOLS
from agent_plugins.strands.memory_tools import MemoryAgentTool

_NAMES = {tool.name for tool in AGENT_TOOLS}


def memory_call_ids(agent: Any, answers: Message) -> Collection[str]:
    """Return the ids of those calls, answered in this message, that went to a memory."""
    ids = {block["toolResult"]["toolUseId"] for block in answers["content"] if "toolResult" in block}
    if not ids:
        return ()
    asked = next((each for each in reversed(agent.messages) if each["role"] == "assistant"), None)
    calls = [block["toolUse"] for block in (asked or {"content": []})["content"] if "toolUse" in block]
    return {call["toolUseId"] for call in calls if call["toolUseId"] in ids and _is_memory_tool(agent, call["name"])}


def _is_memory_tool(agent: Any, name: str) -> bool:
    """Return whether a tool is one of ours, also through MCP, or one of Strands' memory manager."""
    tool = agent.tool_registry.registry.get(name)
    if tool is None:
        return False
    on_server = getattr(tool, "mcp_tool", None)
    if isinstance(tool, MemoryAgentTool) or (on_server is not None and on_server.name in _NAMES):
        return True
    memory_manager = getattr(agent, "memory_manager", None)
    return memory_manager is not None and any(tool is each for each in memory_manager.tools)
