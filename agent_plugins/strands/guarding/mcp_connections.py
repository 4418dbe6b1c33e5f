"""Connections to MCP servers: a dead one is made anew when a tool of the server is probed.

Strands does not reconnect: once the transport of an `MCPClient` has failed, every call of its tools fails. The circuit
of the tool opens then, and its probe, which is a single call, is the moment to connect again.
"""

import asyncio
import logging
from contextlib import suppress
from contextvars import Context
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool

logger = logging.getLogger(__name__)


class ServerUnreachableError(ConnectionError):
    """An MCP server could not be connected again."""


class McpConnections:
    """Knows which clients are dead, and connects them again. Safe to use from any thread and event loop."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_dead: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
        self._connecting: WeakKeyDictionary[Any, Lock] = WeakKeyDictionary()

    def note(self, tool: AgentTool | None, result: ToolResultEvent) -> None:
        """Note from the result of a call whether the server answered it, if only with an error."""
        client = getattr(tool, "mcp_client", None)
        if client is None or result.tool_result.get("cancelled"):
            return
        answered = result.tool_result.get("status") != "error" or "isError" in result.tool_result
        with self._lock:
            self._is_dead[client] = not answered

    async def repair(self, tool: AgentTool | None) -> None:
        """Connect the client of a tool again if it is dead. This may take as long as its server takes to start.

        Raises:
            ServerUnreachableError: The server cannot be reached.
        """
        client = getattr(tool, "mcp_client", None)
        if client is None or not self._needs_repair(client):
            return
        try:
            # In an empty context: the thread of the client would keep that of this invocation for as long as it lives.
            await asyncio.get_running_loop().run_in_executor(None, lambda: Context().run(self._connect, client))
        except Exception as error:
            raise ServerUnreachableError(f"the MCP server cannot be reached: {type(error).__name__}") from error

    def _needs_repair(self, client: Any) -> bool:
        with self._lock:
            return self._is_dead.get(client, False) or not _is_running(client)

    def _connect(self, client: Any) -> None:
        with self._lock:
            one_at_a_time = self._connecting.setdefault(client, Lock())
        with one_at_a_time:
            if not self._needs_repair(client):
                return  # the probe of another tool of this server was faster
            users = set(getattr(client, "_consumers", ()))
            was_started, tools = (
                getattr(client, "_tool_provider_started", False),
                getattr(client, "_loaded_tools", None),
            )
            with suppress(Exception):  # what it says is that the old connection was closed
                client.stop(None, None, None)
            client.start()
            # Stopping forgets the agents that use the client, which would never be closed with the last of them.
            client._consumers, client._tool_provider_started, client._loaded_tools = users, was_started, tools
            with self._lock:
                self._is_dead[client] = False
            logger.info("an MCP server was connected again")


def _is_running(client: Any) -> bool:
    is_active = getattr(client, "_is_session_active", None)  # Strands has no public name for it
    return is_active is None or bool(is_active())
