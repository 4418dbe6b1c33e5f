"""Serve the fixtures of the suite through the product's own web application: its gate, its limits, its transport."""

import asyncio
import sys

from mcp_memory_server.server.access.gate import Guard
from mcp_memory_server.server.access.host_names import of_this_machine
from mcp_memory_server.server.access.principal import Permission, Principal
from mcp_memory_server.server.transports import http_app, listen, serve_http
from tests.conformance.fixtures import mcp


async def main() -> None:
    """Say the port on standard error, and serve."""
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        person = Principal("ana", frozenset(Permission))
        guard = Guard(of_this_machine(port), None, everybody=person)
        app = http_app(mcp._lowlevel_server, guard, lambda _name: (), is_json=False)  # pyright: ignore[reportPrivateUsage]
        print(f"http://127.0.0.1:{port}/mcp", file=sys.stderr, flush=True)
        await serve_http(app, listener)


if __name__ == "__main__":
    asyncio.run(main())
