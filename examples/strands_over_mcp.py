"""A Strands agent that reaches the MCP server as any client does, over stdio and then over HTTP: one memory."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from mcp.client.stdio import StdioServerParameters, stdio_client
from scripted_model import ScriptedModel, Seen, call
from strands import Agent
from strands.tools.mcp import MCPClient


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "MCP_MEMORY_TABLE": f"sqlite://{folder}/memory.db", "MCP_MEMORY_USER": "ana"}
        over_stdio(environment)
        with served(environment) as address:
            over_http(address)


def over_stdio(environment: dict[str, str]) -> None:
    server = StdioServerParameters(command=sys.executable, args=["-m", "mcp_memory_server"], env=environment)
    with MCPClient(lambda: stdio_client(server)) as client:  # pyright: ignore[reportArgumentType]
        model = ScriptedModel(call("remember_fact", fact="Ana is allergic to peanuts."), "I will remember that.")
        agent = Agent(model=model, tools=client.list_tools_sync(), callback_handler=None)  # a real one: BedrockModel()
        print("tools over stdio:", ", ".join(agent.tool_names))
        print("agent over stdio:", str(agent("I am allergic to peanuts.")).strip())


def over_http(address: str) -> None:
    with MCPClient(url=address) as client:
        model = ScriptedModel(call("recall", query="What must Ana not eat? peanuts?"), found)
        agent = Agent(model=model, tools=client.list_tools_sync(), callback_handler=None)
        print("agent over HTTP: ", str(agent("What must I not eat?")).strip())


def found(seen: Seen) -> str:
    """Answer with the text of the memory that the tool found."""
    return json.loads(seen.line("peanuts"))["memories"][0]["text"]


@contextmanager
def served(environment: dict[str, str]) -> Iterator[str]:
    """Start the server, as `mcp-memory-server serve --http --no-auth` does, and yield its address."""
    command = [sys.executable, "-m", "mcp_memory_server", "serve", "--http", "--no-auth", "--port", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            yield next(found[0] for line in server.stderr if (found := re.findall(r"http://\S+/mcp", line)))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
