"""The public modules and their names, as they are documented and checked."""

from importlib import import_module

PUBLIC_MODULES = (
    "mcp_memory_server",
    "agent_plugins",
    "agent_plugins.strands",
    "agent_plugins.agent_squad",
    "agent_plugins.claude",
    "agent_plugins.langgraph",
    "agent_plugins.openai_agents",
    "agent_plugins.pydantic_ai",
)


def public_names(module: str) -> list[str]:
    """Return the names that users may import from a module."""
    return list(import_module(module).__all__)
