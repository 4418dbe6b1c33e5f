"""A real MCP server, in a process of its own, that dies in the middle of a call for as long as a file exists."""

import os
import sys
from pathlib import Path

from mcp.server import MCPServer

server = MCPServer("shop")


@server.tool()
def price(title: str) -> str:
    """Return the price of a book."""
    if Path(sys.argv[1]).exists():
        os._exit(1)
    if title == "nothing":
        raise ValueError("no such book")
    return f"{title} costs 9 EUR"


if __name__ == "__main__":
    server.run()
