"""Who owns a tool of a Strands agent: the MCP server that it comes from, the memory, or else the agent."""

from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from strands.types.tools import AgentTool

from agent_plugins.breakers.tool_registry import ToolRegistry
from agent_plugins.strands.memory_tools import MemoryAgentTool

MEMORY = "memory"
_UNNAMED = "mcp"


class ToolOwners:
    """Names the owners of tools. Two MCP servers of one name get two names. Safe to use from any thread."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._lock = Lock()
        self._servers: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    def of(self, tool: AgentTool | None, agent: Any) -> str:
        """Return the name of the owner."""
        if isinstance(tool, MemoryAgentTool):
            return MEMORY
        client = getattr(tool, "mcp_client", None)
        if client is not None:
            return self._of_server(client)
        return str(self._registry.owner_of(tool, agent.name))

    def _of_server(self, client: Any) -> str:
        known = self._servers.get(client)
        if known is not None:
            return known
        with self._lock:
            name, taken = _server_name(client), set(self._servers.values())
            same = 1 + sum(
                1 for number in range(1, len(taken) + 1) if (name if number == 1 else f"{name} {number}") in taken
            )
            return self._servers.setdefault(client, name if same == 1 else f"{name} {same}")


def _server_name(client: Any) -> str:
    """Return the name in the configuration of the client, else that which the server gives itself."""
    session = getattr(client, "_background_thread_session", None)  # Strands has no public name for it
    server = getattr(getattr(session, "server_info", None), "name", None)
    return str(getattr(client, "client_name", None) or server or getattr(client, "_prefix", None) or _UNNAMED)
