"""Strands agents with a memory: a plugin, a store for its memory manager, and a storage for its sessions."""

from agent_plugins.strands.identity import for_user
from agent_plugins.strands.memory_store import MemoryStore
from agent_plugins.strands.plugin import MemoryPlugin
from agent_plugins.strands.session_storage import SessionStorage

__all__ = ["MemoryPlugin", "MemoryStore", "SessionStorage", "for_user"]
