"""The command that serves clients."""

import argparse
import asyncio
import json
import sys
import threading

from mcp_memory_server.cli.printing import say
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import always
from mcp_memory_server.server.transports import PATH, http_app, listen, serve_http, serve_stdio
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring import open_memory, warm_up

WARM_UP_AFTER_SECONDS = 1.0
"""When the client has had its first answers. Doing it at once would make those slower."""


async def serve(parsed: argparse.Namespace, settings: Settings) -> int:
    """Serve until the client leaves, or the process is told to stop."""
    async with open_memory(settings) as memory:
        server = build_server(memory, always(settings.scope()))
        timer = asyncio.get_running_loop().call_later(WARM_UP_AFTER_SECONDS, _warm_up_beside)
        try:
            if parsed.http:
                app = http_app(server, parsed.host)
                with listen(parsed.host, parsed.port) as listener:
                    _say_how_to_attach(parsed.host, listener.getsockname()[1], settings)
                    await serve_http(app, listener)
            else:
                _warn_a_person(settings)
                await serve_stdio(server)
        finally:
            timer.cancel()
    return 0


def _warm_up_beside() -> None:
    threading.Thread(target=warm_up, name="memory-warm-up", daemon=True).start()


def _say_how_to_attach(host: str, port: int, settings: Settings) -> None:
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
    config = json.dumps({"mcpServers": {"memory": {"command": "mcp-memory-server"}}})
    say(
        f"Serving the memory of {settings.user!r} at {address} (Ctrl-C stops it)\n"
        f"  Claude Code      claude mcp add --transport http memory {address}\n"
        f"  Claude Desktop   starts its own: put {config} into claude_desktop_config.json\n"
        f"  any MCP client   streamable HTTP at {address}"
    )


def _warn_a_person(settings: Settings) -> None:
    if sys.stdin.isatty():
        say(
            f"Serving the memory of {settings.user!r} over stdin and stdout, which is for MCP clients. "
            "Ctrl-D ends it; `mcp-memory-server --help` shows what else there is."
        )
