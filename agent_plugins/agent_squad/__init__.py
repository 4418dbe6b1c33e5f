"""Agent Squad with a memory: a squad, a chat storage, guarded tools, and the memory as tools."""

from agent_plugins.agent_squad.agents import MemoryAgent
from agent_plugins.agent_squad.chat_storage import MemoryChatStorage
from agent_plugins.agent_squad.squad import MemorySquad
from agent_plugins.agent_squad.tools import GuardedTools, memory_tools

__all__ = ["GuardedTools", "MemoryAgent", "MemoryChatStorage", "MemorySquad", "memory_tools"]
