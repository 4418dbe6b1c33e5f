"""The seam for tokens: with a verifier in front, each token sees the memory of its own subject and no other."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette

from mcp_memory_server import ConfigurationError, Memory, UnavailableError
from mcp_memory_server.server.access.gate import Guard
from mcp_memory_server.server.access.guarding import guard_for
from mcp_memory_server.server.access.host_names import HostNames, is_loopback
from mcp_memory_server.server.access.machine_token import machine_token
from mcp_memory_server.server.access.principal import OWN_MEMORY, Principal
from mcp_memory_server.server.access.verifier import Verifier
from mcp_memory_server.server.app import build_server, needs_of_tools
from mcp_memory_server.server.identity import from_verified_token
from mcp_memory_server.server.transports import http_app
from tests.server.asking import ANA, ERAS, LISBON, Era, ask, be_refused
from tests.server.raw_http import HEADERS

pytestmark = pytest.mark.anyio

URL = "https://memory.example/mcp"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


class KnownTokens:
    """Knows two tokens: of Ana, and of Bo."""

    async def verify(self, token: str) -> Principal | None:
        subjects = {"token-of-ana": "ana", "token-of-bo": "bo"}
        return Principal(subjects[token], OWN_MEMORY) if token in subjects else None


class SilentIssuer:
    """Cannot verify anything now."""

    async def verify(self, token: str) -> Principal | None:  # noqa: ARG002
        raise UnavailableError("the issuer does not answer")


def guarded(memory: Memory, verifier: Verifier) -> Starlette:
    guard = Guard(HostNames(["memory.example"], secure=True), verifier)
    return http_app(build_server(memory, from_verified_token), guard, needs_of_tools())


@pytest.fixture
def app(memory: Memory) -> Starlette:
    return guarded(memory, KnownTokens())


def bearer(app: Starlette, token: str | None) -> httpx2.AsyncClient:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), headers=headers)


@asynccontextmanager
async def connected(
    app: Starlette, token: str, era: Era = "auto", *, headers: Mapping[str, str] = {}
) -> AsyncGenerator[Client]:
    async with bearer(app, token) as http:
        http.headers.update(headers)
        async with Client(streamable_http_client(URL, http_client=http), mode=era) as client:
            yield client


@pytest.mark.parametrize("token", [None, "token-of-someone-else", "TOKEN-OF-ANA", ""])
async def test_without_a_known_token_nobody_comes_in(app: Starlette, token: str | None) -> None:
    async with app.router.lifespan_context(app), bearer(app, token) as http:
        answer = await http.post(URL, json=LIST, headers=HEADERS)

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer ")


@pytest.mark.parametrize("era", ERAS)
async def test_each_token_sees_the_memory_of_its_subject_only(app: Starlette, era: Era) -> None:
    async with (
        app.router.lifespan_context(app),
        connected(app, "token-of-ana", era) as ana,
        connected(app, "token-of-bo", era) as bo,
    ):
        learned = await ask(ana, "remember_fact", **LISBON)
        assert (await ask(bo, "recall", query="Lisbon"))["memories"] == []
        assert (await be_refused(bo, "forget", {"id": learned["id"]}))["error"] == "not_found"
        assert len((await ask(ana, "recall", query="Lisbon"))["memories"]) == 1


async def test_a_token_that_cannot_be_verified_now_is_not_called_invalid(memory: Memory) -> None:
    app = guarded(memory, SilentIssuer())
    async with app.router.lifespan_context(app), bearer(app, "token-of-ana") as http:
        answer = await http.post(URL, json=LIST, headers=HEADERS)

    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) > 0


async def test_a_user_named_in_a_header_is_not_listened_to(app: Starlette) -> None:
    pretence = {"X-User": "ana", "MCP-Memory-User": "ana"}
    async with (
        app.router.lifespan_context(app),
        connected(app, "token-of-ana") as ana,
        connected(app, "token-of-bo", headers=pretence) as bo,
    ):
        await ask(bo, "remember_fact", **LISBON)
        assert (await ask(ana, "recall", query="Lisbon"))["memories"] == []


async def test_another_host_or_origin_than_the_allowed_one_is_turned_away(app: Starlette) -> None:
    async with app.router.lifespan_context(app), bearer(app, "token-of-ana") as http:
        host = await http.post("https://evil.example/mcp", json=LIST, headers=HEADERS)
        origin = await http.post(URL, json=LIST, headers={**HEADERS, "Origin": "https://evil.example"})
        own = await http.post(URL, json=LIST, headers={**HEADERS, "Origin": "https://memory.example"})

    assert (host.status_code, origin.status_code, own.status_code) == (421, 403, 200)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/anything", "//mcp", "/health/../mcp"])
async def test_no_path_leads_around_the_gate(app: Starlette, path: str) -> None:
    async with app.router.lifespan_context(app), bearer(app, None) as http:
        answer = await http.post(f"https://memory.example{path}", json=LIST, headers=HEADERS)

    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "without MCP_MEMORY_AUTH"),
        ({"auth": "tokens:"}, "set MCP_MEMORY_HOSTS"),
        ({"is_open": True}, "without MCP_MEMORY_AUTH"),
        ({"is_open": True, "hosts": ["memory.example"]}, "without MCP_MEMORY_AUTH"),
        ({"auth": "tokens:", "is_open": True, "hosts": ["memory.example"]}, "without MCP_MEMORY_AUTH"),
    ],
)
def test_other_machines_connect_only_with_a_verifier_and_known_names(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    stated = {"auth": "", "hosts": [], "is_open": False, **settings}
    with pytest.raises(ConfigurationError, match=message):
        guard_for("0.0.0.0", 8765, ANA, tmp_path, **stated)


def test_with_both_they_connect(tmp_path: Path) -> None:
    guard = guard_for("0.0.0.0", 8765, ANA, tmp_path, auth="tokens:", hosts=["memory.example"], is_open=False)

    assert guard.verifier is not None
    assert guard.everybody is None
    assert guard.hosts.has_host("memory.example")
    assert not guard.hosts.has_host("127.0.0.1:8765")


def test_on_this_machine_a_token_is_made_that_only_the_owner_can_read(tmp_path: Path) -> None:
    guard = guard_for("127.0.0.1", 8765, ANA, tmp_path / "data", auth="", hosts=[], is_open=False)
    token = machine_token(tmp_path / "data")

    assert guard.everybody is None
    assert (tmp_path / "data" / "http-token").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "data" / "http-token").read_text().strip() == token


def test_a_token_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    machine_token(tmp_path)
    (tmp_path / "http-token").chmod(0o644)

    with pytest.raises(ConfigurationError, match="owner only"):
        machine_token(tmp_path)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *(("127.0.0.1", True), ("127.8.8.8", True), ("localhost", True), ("::1", True), ("[::1]", True)),
        *(("0.0.0.0", False), ("::", False), ("192.0.2.1", False), ("localhost.evil.example", False), ("", False)),
    ],
)
def test_loopback_is_this_machine_alone(host: str, *, loopback: bool) -> None:
    assert is_loopback(host) is loopback
