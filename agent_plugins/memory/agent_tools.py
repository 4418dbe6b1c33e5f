"""The five memory tools for agents. Their model already sees a context, so `load_context` has another description."""

from mcp_memory_server import MEMORY_TOOLS

MORE_CONTEXT = "Load more of the user's preferences and main facts than is shown already."

AGENT_TOOLS = tuple(
    tool.with_description(MORE_CONTEXT) if tool.name == "load_context" else tool for tool in MEMORY_TOOLS
)
