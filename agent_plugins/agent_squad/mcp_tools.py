"""Tools of MCP servers, from the tool provider of Agent Squad.

The provider does not reconnect: once the transport of a server has failed, every call of its tools fails. The circuit
of the tool opens then, and its probe, which is a single call, is the moment to connect again.
"""

import asyncio
import sys
from collections.abc import Mapping
from contextvars import Context
from typing import Any

from agent_squad.utils import AgentTool, AgentTools, ToolResult

from mcp_memory_server import InvalidRequestError

FAILED = ("Tool error:", "Tool returned an error", "Error calling tool")
"""How the answer of a failed tool begins: the provider raises nothing."""
_UNANSWERED = FAILED[-1]

_MODULE = "agent_squad.tools.mcp_tool_provider"


def is_mcp_provider(tools: AgentTools) -> bool:
    """Return whether these are the tools of MCP servers, without importing the package mcp for others."""
    module = sys.modules.get(_MODULE)
    return module is not None and isinstance(tools, module.MCPToolProvider)


class McpServers:
    """The MCP servers of a provider. For tools that come from none, it does nothing."""

    def __init__(self, provider: AgentTools) -> None:
        self._provider: Any = provider if is_mcp_provider(provider) else None
        self._current: Any = self._provider
        self._dead: set[str] = set()
        self._connection: _Connection | None = None

    def tools(self) -> list[AgentTool]:
        """Return the tools as a list; the provider has them only in the formats of model APIs.

        Raises:
            InvalidRequestError: It is not connected, or its servers have no tools.
        """
        described = self._provider.to_claude_format()
        if not described:
            raise InvalidRequestError(
                "this MCPToolProvider has no tools: make it with `await MCPToolProvider.create([…])`, which connects it"
            )
        return [self._tool(one["name"], one["description"], one["input_schema"]) for one in described]

    def owner_of(self, tool: str) -> str | None:
        """Return the name of the server that has a tool; None if it comes from no server."""
        entry = None if self._provider is None else self._provider._tool_map.get(tool)
        if entry is None:
            return None
        server = getattr(getattr(entry, "session", None), "server_info", None)
        return str(getattr(server, "name", None) or "mcp")

    def note(self, tool: str, answer: str) -> None:
        """Note from the answer whether the server gave it."""
        if self._provider is None:
            return
        owner = self.owner_of(tool) or "mcp"
        (self._dead.add if answer.startswith(_UNANSWERED) else self._dead.discard)(owner)

    async def repair(self, tool: str) -> None:
        """Connect again if the server of the tool is dead.

        Raises:
            ConnectionError: It cannot be reached.
        """
        if (self.owner_of(tool) or "mcp") not in self._dead:
            return
        connection = _Connection()
        try:
            fresh = await connection.open(self._provider)
        except Exception as error:
            raise ConnectionError(f"the MCP server cannot be reached: {type(error).__name__}") from error
        before, self._current, self._connection = self._connection, fresh, connection
        self._dead.clear()
        if before is not None:
            before.close()
        else:
            self._close_with_the_provider()

    def _tool(self, name: str, description: str, schema: Mapping[str, Any]) -> AgentTool:
        async def call(**arguments: Any) -> ToolResult:
            return await self._current._call_mcp_tool(name, arguments)  # it has no public method for one call

        # Agent Squad takes no properties for "look at func"
        tool = AgentTool(name, description or name, {"": {}}, func=call)
        tool.properties, tool.required = dict(schema.get("properties") or {}), list(schema.get("required") or [])
        return tool

    def _close_with_the_provider(self) -> None:
        disconnect = self._provider.disconnect

        async def disconnect_both() -> None:
            if self._connection is not None:
                await self._connection.closed()
            await disconnect()

        self._provider.disconnect = disconnect_both


class _Connection:
    """A second connection to the servers of a provider, in a task of its own.

    What the package mcp opens in a task must be closed in that task: closing it in another one cancels the first.
    """

    def __init__(self) -> None:
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def open(self, provider: Any) -> Any:
        """Return a provider that is connected. The first one stays as it is, for its owner to disconnect."""
        opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        fresh = type(provider)(provider._servers, provider.callbacks)
        self._task = asyncio.create_task(self._hold(fresh, opened), context=Context())
        try:
            return await opened
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    def close(self) -> None:
        """Close the connection, soon."""
        self._stop.set()

    async def closed(self) -> None:
        """Close the connection, and wait until it is."""
        self._stop.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _hold(self, fresh: Any, opened: "asyncio.Future[Any]") -> None:
        try:
            await fresh._ensure_connected()
            if not opened.done():
                opened.set_result(fresh)
            await self._stop.wait()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the result of opening the connection
            if not opened.done():
                opened.set_exception(error)
        finally:
            await fresh.disconnect()
