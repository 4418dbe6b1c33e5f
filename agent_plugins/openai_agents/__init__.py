"""Sessions of the OpenAI Agents SDK on the same memory."""

from agent_plugins.openai_agents.session import MemorySession

__all__ = ["MemorySession"]
