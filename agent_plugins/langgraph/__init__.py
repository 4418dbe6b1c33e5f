"""A `BaseStore` of LangGraph on the same memory."""

from agent_plugins.langgraph.store import AgentMemoryStore

__all__ = ["AgentMemoryStore"]
