"""A capability of Pydantic AI on the same memory."""

from agent_plugins.pydantic_ai.capability import MemoryCapability

__all__ = ["MemoryCapability"]
