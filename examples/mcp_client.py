"""Any MCP client: two conversations, two server processes, one memory."""

import asyncio
import os
import sys
import tempfile

from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "mcp_memory_server"],
            env={**os.environ, "MCP_MEMORY_TABLE": f"sqlite://{folder}/memory.db", "MCP_MEMORY_USER": "ana"},
        )
        async with Client(server) as client:
            print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
            await call(client, "remember_fact", fact="Ana is allergic to peanuts.", topic="health/allergies")
            await call(client, "set_preference", key="tone", value="brief")
        async with Client(server) as client:
            await call(client, "load_context")
            await call(client, "recall", query="What must Ana not eat? peanuts?")


async def call(client: Client, tool: str, **arguments: str) -> None:
    answer = await client.call_tool(tool, arguments)
    print(f"{tool}:", answer.structured_content)


if __name__ == "__main__":
    asyncio.run(main())
