"""The floor: the smallest server on the same SDK, with one tool that does nothing.

``--own-streams`` serves it on the streams of our server instead of those of the SDK.
"""

import asyncio
import sys
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

from mcp_memory_server.server.standard_streams import standard_streams

TOOL = types.Tool(name="noop", description="Do nothing.", input_schema={"type": "object", "properties": {}})
ANSWER = types.CallToolResult(content=[types.TextContent(text="{}")])


async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[TOOL])


async def call_tool(_context: Any, _params: Any) -> types.CallToolResult:
    return ANSWER


async def main() -> None:
    server = Server("noop", on_list_tools=list_tools, on_call_tool=call_tool)
    streams = standard_streams() if "--own-streams" in sys.argv else stdio_server()
    async with streams as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
