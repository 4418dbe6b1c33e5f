"""The command that serves MCP clients."""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from mcp_memory_server.addresses import Issuer, parse_auth, parse_hosts
from mcp_memory_server.cli import INTERRUPTED
from mcp_memory_server.cli.printing import say
from mcp_memory_server.cli.program import this_program
from mcp_memory_server.errors import ConfigurationError, TableDamagedError
from mcp_memory_server.memory import Memory
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.server.access.machine_token import FILE_NAME as MACHINE_TOKEN
from mcp_memory_server.server.app import build_server, needs_of_tools
from mcp_memory_server.server.identity import always, from_verified_token, with_owners
from mcp_memory_server.server.transports import PATH, http_app, listen, serve_http, serve_stdio
from mcp_memory_server.server.unavailable import is_available, unavailable_memory
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring import local_folder, open_memory
from mcp_memory_server.wiring.metrics import MetricsPage, metrics_of_this_process, open_metrics_page

CONVERSATION = "conversation"
SECONDS_TO_STOP = 3
"""How long the sessions of a server that is stopped may take to end."""


async def serve(parsed: argparse.Namespace, settings: Settings) -> int:
    """Serve until the client disconnects or the process is stopped."""
    page = _metrics_page(parsed)
    metrics = metrics_of_this_process() if page is None else page.metrics
    async with _opened(settings, metrics) as memory:
        if parsed.http:
            await _serve_http(parsed, settings, memory, page)
        else:
            await _serve_stdio(parsed, settings, memory)
    return 0


@asynccontextmanager
async def _opened(settings: Settings, metrics: Metrics | None) -> AsyncGenerator[Memory]:
    """Open the memory. A damaged one is answered for: a client that sees no server cannot say why."""
    async with AsyncExitStack() as stack:
        try:
            memory = await stack.enter_async_context(open_memory(settings, metrics=metrics, finalize_sessions=True))
        except TableDamagedError as error:
            memory = unavailable_memory(error)
        yield memory


async def _serve_http(parsed: argparse.Namespace, settings: Settings, memory: Memory, page: MetricsPage | None) -> None:
    # Imported here: a client on stdio should not wait for them.
    from mcp_memory_server.server.access.guarding import check_exposure, guard_for
    from mcp_memory_server.server.limits.fair_use import FairUse

    tools = {"with_conversations": parsed.tools == CONVERSATION, "with_hooks": parsed.hooks}
    access = {"auth": settings.auth, "hosts": parse_hosts(settings.hosts), "is_open": parsed.no_auth}
    check_exposure(parsed.host, **access)
    server = build_server(memory, with_owners(from_verified_token, settings.owners()), **tools)
    with listen(parsed.host, parsed.port) as listener:
        port: int = listener.getsockname()[1]
        fair_use = FairUse(calls_per_second=settings.calls_per_second, records_per_day=settings.records_per_day)
        guard = guard_for(parsed.host, port, settings.scope(), local_folder(settings), **access, fair_use=fair_use)
        app = http_app(server, guard, needs_of_tools(**tools), metrics_page=page and page.render)
        _say_how_to_attach(parsed, port, settings)
        await serve_http(app, listener)


async def _serve_stdio(parsed: argparse.Namespace, settings: Settings, memory: Memory) -> None:
    with_conversations = parsed.tools == CONVERSATION
    server = build_server(
        memory, always(settings.scope_in(Path.cwd())), with_conversations=with_conversations, with_hooks=parsed.hooks
    )
    _warn_a_person(settings)
    if not (with_conversations or parsed.hooks):
        # The thread that waits for the next line cannot be interrupted. Acknowledged writes are durable.
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        await serve_stdio(server)
        return
    await _until_stopped(serve_stdio(server))
    if is_available(memory):
        await memory.conversations.end_all()  # the client has disconnected, or stopped this server as Claude Code does


async def _until_stopped(serving: Coroutine[Any, Any, None]) -> None:
    """Serve until the client disconnects, or until SIGINT or SIGTERM."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # on Windows, where a client ends the process at once
            loop.add_signal_handler(number, stopped.set)
    tasks = asyncio.ensure_future(serving), asyncio.ensure_future(stopped.wait())
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    if tasks[0] in done:
        await tasks[0]
        return
    # A thread that waits for the next line cannot be interrupted. Acknowledged writes are durable.
    deadline = threading.Timer(SECONDS_TO_STOP, os._exit, (INTERRUPTED,))
    deadline.daemon = True
    deadline.start()


def _metrics_page(parsed: argparse.Namespace) -> MetricsPage | None:
    if parsed.metrics and not parsed.http:
        raise ConfigurationError("--metrics is a page of the HTTP server; add --http")
    return open_metrics_page() if parsed.metrics else None


def _say_how_to_attach(parsed: argparse.Namespace, port: int, settings: Settings) -> None:
    host = f"[{parsed.host}]" if ":" in parsed.host else parsed.host
    address = f"http://{host}:{port}{PATH}"
    if settings.auth:
        say(
            f"Serving at {address} (Ctrl-C stops it)\n"
            f"  every request needs a token ({_sources(settings)}), which also says whose memory it is"
        )
    elif parsed.no_auth:
        say(
            f"Serving the memory of {settings.user!r} at {address} (Ctrl-C stops it)\n"
            f"  WITHOUT A TOKEN: every account and program of this machine can read and change it\n"
            f"  Claude Code      claude mcp add --transport http memory {address}\n"
            f"  any MCP client   streamable HTTP at {address}"
        )
    else:
        token = local_folder(settings) / MACHINE_TOKEN
        say(
            f"Serving the memory of {settings.user!r} at {address} (Ctrl-C stops it)\n"
            f"  Claude Code      {this_program()} attach claude-code --http {address}\n"
            f"  others           the same with cursor, vscode, codex, windsurf or zed; Claude Desktop starts its own\n"
            f"  any MCP client   streamable HTTP at {address}, with the header Authorization: Bearer TOKEN;\n"
            f"                   the token is in {token}"
        )


def _sources(settings: Settings) -> str:
    sources = [one.address if isinstance(one, Issuer) else "`token create`" for one in parse_auth(settings.auth)]
    return f"from {' or '.join(sources)}"


def _warn_a_person(settings: Settings) -> None:
    if sys.stdin.isatty():
        say(
            f"Serving the memory of {settings.user!r} over stdin and stdout, which is for MCP clients. "
            "Ctrl-D ends it; `mcp-memory-server --help` shows what else there is."
        )
