"""The gate of the HTTP server: nothing behind it sees a request that is not permitted.

It answers by RFC 6750 and the authorization chapter of MCP: 401 without a valid token, with the address of the
metadata about this resource where an issuer gives tokens; 403 with the scope that is missing; 503 for a token that
cannot be verified now; 429 for a user who is over a limit.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_memory_server.errors import BusyError, MemoryServerError
from mcp_memory_server.server.access.host_names import HostNames
from mcp_memory_server.server.access.needs import Needs, decoded, meta_of, needs_of
from mcp_memory_server.server.access.principal import OWN_MEMORY, Permission, Principal, acting_as
from mcp_memory_server.server.access.verifier import Verifier
from mcp_memory_server.server.limits.fair_use import FairUse

PATH = "/mcp"
WELL_KNOWN = "/.well-known/oauth-protected-resource"
MAX_BODY_BYTES = 1024 * 1024
BODY_SECONDS = 20.0
"""How long a client may take to send a body."""
RETRY_SECONDS = 5
BUSY = -32050
"""The JSON-RPC code of a request over a limit; JSON-RPC leaves it to servers."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Resource:
    """How this server is named to OAuth clients, and which issuers give tokens for it."""

    address: str
    metadata_address: str
    issuers: Sequence[str]

    def metadata(self) -> dict[str, Any]:
        """Return the protected-resource metadata of RFC 9728."""
        return {
            "resource": self.address,
            "authorization_servers": list(self.issuers),
            "scopes_supported": [one.value for one in Permission],
            "bearer_methods_supported": ["header"],
            "resource_name": "Memory",
        }


@dataclass(frozen=True)
class Guard:
    """Access over HTTP: the names of the server, and who verifies tokens. Without a verifier, ``everybody`` is one."""

    hosts: HostNames
    verifier: Verifier | None
    everybody: Principal | None = None
    resource: Resource | None = None
    open_paths: frozenset[str] = field(default=frozenset())
    """Paths with rules of their own."""
    fair_use: FairUse | None = None
    """The limits of each user, where there are many."""


class Gate:
    """ASGI middleware in front of everything."""

    def __init__(self, app: ASGIApp, guard: Guard, needs: Needs) -> None:
        self._app = app
        self._guard = guard
        self._needs = needs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or pass it on as its principal."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        if scope["path"] in self._guard.open_paths:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = self._refused_place(headers) or self._metadata(scope) or _refused_method(scope)
        if answer is None:
            principal = await _principal(headers, self._guard)
            if isinstance(principal, Principal):
                await self._pass(principal, scope, receive, send)
                return
            answer = principal
        await answer(scope, receive, send)

    def _refused_place(self, headers: Headers) -> Response | None:
        if not self._guard.hosts.has_host(headers.get("host")):
            return PlainTextResponse("this server is not known under that Host\n", status_code=421)
        if not self._guard.hosts.has_origin(headers.get("origin")):
            return PlainTextResponse("that Origin may not use this server\n", status_code=403)
        return None

    def _metadata(self, scope: Scope) -> Response | None:
        resource = self._guard.resource
        if resource is None or not scope["path"].startswith(WELL_KNOWN) or scope["method"] != "GET":
            return None
        return JSONResponse(resource.metadata(), headers={"Cache-Control": "max-age=3600"})

    async def _pass(self, principal: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _read_body(scope, receive)
        if isinstance(body, Response):
            await body(scope, receive, send)
            return
        message = decoded(body)
        needed, meta = needs_of(message, self._needs), meta_of(message)
        if missing := principal.missing(needed, meta):
            await _forbidden(missing, self._guard)(scope, receive, send)
            return
        written = len(body) if Permission.WRITE in needed else 0
        try:
            async with self._fair_use(principal.counted_as(meta), written):
                with acting_as(principal):
                    await self._app(scope, _replayed(body, receive), send)
        except BusyError as error:
            await _busy(error, message)(scope, receive, send)

    def _fair_use(self, user: str, written: int) -> AbstractAsyncContextManager[None]:
        limits = self._guard.fair_use
        return nullcontext() if limits is None else limits.call(user, written_bytes=written)


async def refused_operator(headers: Headers, guard: Guard) -> Response | None:
    """Return the refusal of a request that only an operator may send, None if its token permits that."""
    principal = await _principal(headers, guard)
    if not isinstance(principal, Principal):
        return principal
    missing = principal.missing([Permission.OPERATE], {})
    return _forbidden(missing, guard) if missing else None


async def _principal(headers: Headers, guard: Guard) -> Principal | Response:
    if guard.verifier is None:
        return guard.everybody or _unauthorized(None, guard)
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or len(headers.getlist("authorization")) != 1:
        return _unauthorized(None, guard)
    try:
        principal = await guard.verifier.verify(token.strip())
    except MemoryServerError as error:
        logger.warning("a token could not be verified: %s", error)
        return PlainTextResponse(
            "the token cannot be verified now\n", status_code=503, headers={"Retry-After": str(RETRY_SECONDS)}
        )
    return principal or _unauthorized("invalid_token", guard)


def _unauthorized(error: str | None, guard: Guard) -> Response:
    described = {"error": error, "error_description": "the token is not valid for this server"} if error else {}
    return _challenge(401, described, {"error": error or "a token is needed: Authorization: Bearer TOKEN"}, guard)


def _forbidden(missing: Sequence[Permission], guard: Guard) -> Response:
    needed = " ".join(missing)
    described = {"error": "insufficient_scope", "error_description": f"needs {needed}", "scope": needed}
    return _challenge(403, described, described, guard)


def _busy(error: BusyError, message: Mapping[str, Any]) -> Response:
    data = {"error": "busy", "retry_after_seconds": error.retry_after}
    answer = {"code": BUSY, "message": str(error), "data": data}
    return JSONResponse(
        {"jsonrpc": "2.0", "id": message.get("id"), "error": answer},
        status_code=429,
        headers={"Retry-After": str(error.retry_after)},
    )


def _challenge(status: int, described: Mapping[str, str], body: Mapping[str, str], guard: Guard) -> Response:
    parts = dict(described) or {"scope": " ".join(sorted(OWN_MEMORY))}
    if guard.resource is not None:
        parts["resource_metadata"] = guard.resource.metadata_address
    challenge = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts.items())
    return JSONResponse(dict(body), status_code=status, headers={"WWW-Authenticate": challenge})


def _refused_method(scope: Scope) -> Response | None:
    # Without sessions there is no stream to listen to (GET) and nothing to end (DELETE).
    if scope["method"] == "POST":
        return None
    return PlainTextResponse("send MCP requests with POST\n", status_code=405, headers={"Allow": "POST"})


async def _read_body(scope: Scope, receive: Receive) -> bytes | Response:
    declared = Headers(scope=scope).get("content-length", "0")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while declared.isascii() and declared.isdigit() and int(declared) <= MAX_BODY_BYTES >= len(body):
                message = await receive()
                body += message.get("body", b"")
                if message["type"] != "http.request" or (not message.get("more_body") and len(body) <= MAX_BODY_BYTES):
                    return bytes(body)
    except TimeoutError:
        return _ending("the request did not arrive in time\n", 408)
    return _ending(f"a request has at most {MAX_BODY_BYTES:,} bytes\n", 413)


def _ending(text: str, status: int) -> Response:
    """Return an answer after which the connection ends, because the rest of the request is not read."""
    return PlainTextResponse(text, status_code=status, headers={"Connection": "close"})


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a source of the body that was read, and then of what follows."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
