"""Transports: the standard streams of a process, and streamable HTTP."""

import asyncio
import ipaddress
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from mcp.server import Server
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.server.standard_streams import standard_streams

PATH = "/mcp"
METRICS_PATH = "/metrics"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MAX_BODY_BYTES = 1024 * 1024
MAX_REQUESTS_AT_ONCE = 1000
GRACE_SECONDS = 10

MetricsPage: TypeAlias = Callable[[], bytes]


@dataclass(frozen=True)
class Guard:
    """Access over HTTP: a verifier for tokens, and the host names of the server."""

    verifier: TokenVerifier
    settings: AuthSettings
    allowed_hosts: Sequence[str]


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
        log_level="warning",
        timeout_graceful_shutdown=GRACE_SECONDS,
        limit_concurrency=MAX_REQUESTS_AT_ONCE,
    )
    await StoppableServer(config).serve(sockets=[listener])


def http_app(
    server: Server[Any], host: str, guard: Guard | None = None, *, metrics_page: MetricsPage | None = None
) -> Starlette:
    """Return the web application, with the metrics page if there is one.

    It is stateless: with sessions, this SDK can send the result of one conversation to another.

    Raises:
        ConfigurationError: Without a guard, the host is not this machine alone.
    """
    if guard is None and not is_loopback(host):
        raise ConfigurationError(
            f"without a token verifier the server listens on this machine only, not on {host!r}; use --host 127.0.0.1"
        )
    routes = [Route("/health", _health, methods=["GET"])]
    if metrics_page is not None:
        routes.append(_metrics_route(metrics_page))
    return server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=_security(guard),
        host=host,
        auth=guard.settings if guard else None,
        token_verifier=guard.verifier if guard else None,
        custom_starlette_routes=routes,
    )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _security(guard: Guard | None) -> TransportSecuritySettings:
    # Always explicit: for a host other than loopback the SDK would check neither Host nor Origin.
    if guard is not None:
        origins = [f"https://{host}" for host in guard.allowed_hosts]
        return TransportSecuritySettings(allowed_hosts=list(guard.allowed_hosts), allowed_origins=origins)
    names = ("127.0.0.1:*", "localhost:*", "[::1]:*")
    return TransportSecuritySettings(allowed_hosts=list(names), allowed_origins=[f"http://{name}" for name in names])


async def _health(_request: Request) -> Response:
    return PlainTextResponse("ok\n")


def _metrics_route(page: MetricsPage) -> Route:
    """Return the route of the metrics page, which needs no token and answers this machine only, even with a guard."""
    this_machine = TransportSecurityMiddleware(_security(None))

    async def answer(request: Request) -> Response:
        # A request through a proxy on this machine shows in its Host header or in X-Forwarded-For.
        if request.client is None or not is_loopback(request.client.host):
            return PlainTextResponse("the metrics are for this machine only\n", status_code=403)
        refusal = await this_machine.validate_request(request)
        return refusal or Response(await asyncio.to_thread(page), media_type=METRICS_TYPE)

    return Route(METRICS_PATH, answer, methods=["GET"])
