"""The command that serves MCP clients."""

import argparse
import json
import os
import signal
import sys

from mcp_memory_server.cli import INTERRUPTED
from mcp_memory_server.cli.printing import say
from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import always
from mcp_memory_server.server.transports import PATH, http_app, listen, serve_http, serve_stdio
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring import open_memory
from mcp_memory_server.wiring.metrics import MetricsPage, metrics_of_this_process, open_metrics_page

CONVERSATION = "conversation"


async def serve(parsed: argparse.Namespace, settings: Settings) -> int:
    """Serve until the client disconnects or the process is stopped."""
    page = _metrics_page(parsed)
    metrics = metrics_of_this_process() if page is None else page.metrics
    async with open_memory(settings, metrics=metrics, finalize_sessions=True) as memory:
        with_conversations = parsed.tools == CONVERSATION
        server = build_server(
            memory, always(settings.scope()), with_conversations=with_conversations, with_hooks=parsed.hooks
        )
        if parsed.http:
            app = http_app(server, parsed.host, metrics_page=page and page.render)
            with listen(parsed.host, parsed.port) as listener:
                _say_how_to_attach(parsed.host, listener.getsockname()[1], settings)
                await serve_http(app, listener)
        else:
            _warn_a_person(settings)
            # The thread that waits for the next line cannot be interrupted. Acknowledged writes are durable.
            signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
            await serve_stdio(server)
            if with_conversations or parsed.hooks:
                await memory.conversations.end_all()  # the client has disconnected
    return 0


def _metrics_page(parsed: argparse.Namespace) -> MetricsPage | None:
    if parsed.metrics and not parsed.http:
        raise ConfigurationError("--metrics is a page of the HTTP server; add --http")
    return open_metrics_page() if parsed.metrics else None


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
