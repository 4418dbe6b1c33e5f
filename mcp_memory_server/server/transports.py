"""Transports: the standard streams of a process, and streamable HTTP."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.server.access.gate import MAX_BODY_BYTES, PATH, Gate, Guard, refused_operator
from mcp_memory_server.server.access.host_names import THIS_MACHINE, is_loopback
from mcp_memory_server.server.access.needs import Needs
from mcp_memory_server.server.standard_streams import standard_streams

METRICS_PATH = "/metrics"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
HEALTH_PATH = "/health"
OPEN_PATHS = frozenset({HEALTH_PATH, METRICS_PATH})
GRACE_SECONDS = 10

MetricsPage: TypeAlias = Callable[[], bytes]


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the one client that started this process, until it closes the stream."""
    async with standard_streams() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def listen(host: str, port: int) -> socket.socket:
    """Bind the port, before anything else is set up. Port 0 means any free one.

    Raises:
        ConfigurationError: The port is taken, or the address is not of this machine.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {host} port {port}: {error.strerror}. Choose another one with --port"
        ) from error


async def serve_http(app: Starlette, listener: socket.socket) -> None:
    """Serve streamable HTTP until the first SIGINT or SIGTERM, then finish the requests in flight.

    A second signal ends the process at once, also during the shutdown: acknowledged writes are durable.
    """
    # Imported here: a client on stdio should not wait for a web server to load.
    import uvicorn

    from mcp_memory_server.server.limits.connections import ConnectionLimits, limited_protocol

    class StoppableServer(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Generator[None]:
            # uvicorn would treat a second signal like the first, and raise both again at the end.
            def stop(number: int, _frame: object) -> None:
                if self.should_exit:
                    os._exit(128 + number)
                self.should_exit = True

            if threading.current_thread() is threading.main_thread():
                for number in (signal.SIGINT, signal.SIGTERM):
                    signal.signal(number, stop)
            yield

    config = uvicorn.Config(
        app,
        http=limited_protocol(ConnectionLimits()),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    await StoppableServer(config).serve(sockets=[listener])


def http_app(
    server: Server[Any],
    guard: Guard,
    needs: Needs,
    *,
    metrics_page: MetricsPage | None = None,
    is_json: bool = True,
) -> Starlette:
    """Return the web application behind its gate, with the metrics page if there is one.

    It is stateless: with sessions, this SDK can send the result of one conversation to another. Answers are JSON; only
    tools that report their progress, which none of ours do, need event streams.
    """
    routes = [Route(HEALTH_PATH, _health, methods=["GET"])]
    if metrics_page is not None:
        routes.append(_metrics_route(metrics_page, guard))
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=is_json,
        stateless_http=True,
        max_request_body_size=MAX_BODY_BYTES,
        # The gate checks Host and Origin: the SDK compares them by their beginning.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        custom_starlette_routes=routes,
    )
    app.add_middleware(Gate, guard=replace(guard, open_paths=OPEN_PATHS), needs=needs)
    return app


async def _health(_request: Request) -> Response:
    return PlainTextResponse("ok\n")


def _metrics_route(page: MetricsPage, guard: Guard) -> Route:
    """Return the route of the metrics page: this machine needs no token for it, others one that may operate."""

    async def answer(request: Request) -> Response:
        refusal = await _refused_metrics(request, guard)
        return refusal or Response(await asyncio.to_thread(page), media_type=METRICS_TYPE)

    return Route(METRICS_PATH, answer, methods=["GET"])


async def _refused_metrics(request: Request, guard: Guard) -> Response | None:
    if "authorization" in request.headers and guard.verifier is not None:
        return await refused_operator(request.headers, guard)
    # A request through a proxy on this machine shows in its Host header or in X-Forwarded-For.
    if request.client is None or not is_loopback(request.client.host):
        return PlainTextResponse("the metrics are for this machine, or for a token that may operate\n", status_code=403)
    host = request.headers.get("host", "")
    name, port = (host, None) if host in THIS_MACHINE else (host.rpartition(":")[0], host.rpartition(":")[2])
    if name not in THIS_MACHINE or not (port is None or (port.isascii() and port.isdigit())):
        return PlainTextResponse("the metrics are not known under that Host\n", status_code=421)
    if request.headers.get("origin") not in (None, f"http://{host}"):
        return PlainTextResponse("that Origin may not see the metrics\n", status_code=403)
    return None
