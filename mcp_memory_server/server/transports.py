"""How clients reach the server: over the standard streams of a process, or over HTTP."""

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp.server import Server
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from mcp_memory_server.errors import ConfigurationError

PATH = "/mcp"
MAX_BODY_BYTES = 1024 * 1024
MAX_REQUESTS_AT_ONCE = 1000
GRACE_SECONDS = 10


@dataclass(frozen=True)
class Guard:
    """Who may come in over HTTP: a verifier for their tokens, and the names under which the server is reached."""

    verifier: TokenVerifier
    settings: AuthSettings
    allowed_hosts: Sequence[str]


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the one client that started this process, until it closes the stream."""
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def listen(host: str, port: int) -> socket.socket:
    """Take the port, before anything else is set up. Port 0 takes any that is free.

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
    """Serve streamable HTTP until the process is told to stop, then finish what is in flight."""
    # Imported here: a client on stdio should not wait for a web server to load.
    import uvicorn

    config = uvicorn.Config(
        app,
        log_level="warning",
        timeout_graceful_shutdown=GRACE_SECONDS,
        limit_concurrency=MAX_REQUESTS_AT_ONCE,
    )
    await uvicorn.Server(config).serve(sockets=[listener])


def http_app(server: Server[Any], host: str, guard: Guard | None = None) -> Starlette:
    """Return the web application.

    It is stateless: with sessions, this SDK can answer one conversation with another's result.

    Raises:
        ConfigurationError: Without a guard, the host is not this machine alone.
    """
    if guard is None and not is_loopback(host):
        raise ConfigurationError(
            f"without a token verifier the server listens on this machine only, not on {host!r}; use --host 127.0.0.1"
        )
    return server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=_security(guard),
        host=host,
        auth=guard.settings if guard else None,
        token_verifier=guard.verifier if guard else None,
        custom_starlette_routes=[Route("/health", _health, methods=["GET"])],
    )


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _security(guard: Guard | None) -> TransportSecuritySettings:
    # Always said explicitly: for any other host than loopback the SDK would check neither Host nor Origin.
    if guard is not None:
        origins = [f"https://{host}" for host in guard.allowed_hosts]
        return TransportSecuritySettings(allowed_hosts=list(guard.allowed_hosts), allowed_origins=origins)
    names = ("127.0.0.1:*", "localhost:*", "[::1]:*")
    return TransportSecuritySettings(allowed_hosts=list(names), allowed_origins=[f"http://{name}" for name in names])


async def _health(_request: Request) -> Response:
    return PlainTextResponse("ok\n")
