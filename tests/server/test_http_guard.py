"""The seam for tokens: with a verifier in front, each token sees the memory of its own subject and no other."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from starlette.applications import Starlette

from mcp_memory_server import ConfigurationError, Memory
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import from_verified_token
from mcp_memory_server.server.transports import Guard, http_app, is_loopback
from tests.server.asking import ERAS, LISBON, Era, ask, be_refused
from tests.server.raw_http import HEADERS

pytestmark = pytest.mark.anyio

URL = "https://memory.example/mcp"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


class KnownTokens:
    """Knows three tokens: of Ana, of Bo, and one that names nobody."""

    async def verify_token(self, token: str) -> AccessToken | None:
        subjects = {"token-of-ana": "ana", "token-of-bo": "bo", "token-of-nobody": None}
        if token not in subjects:
            return None
        return AccessToken(token=token, client_id="one app for all", scopes=[], resource=URL, subject=subjects[token])


@pytest.fixture
def app(memory: Memory) -> Starlette:
    # From a mapping: the last of them is not known to the oldest SDK that is supported.
    settings = AuthSettings.model_validate(
        {"issuer_url": "https://login.example", "resource_server_url": URL, "validate_token_resource": True}
    )
    guard = Guard(KnownTokens(), settings, allowed_hosts=["memory.example"])
    return http_app(build_server(memory, from_verified_token), "0.0.0.0", guard)


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
    assert "resource_metadata" in answer.headers["WWW-Authenticate"]


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


async def test_a_token_that_names_nobody_owns_no_memory(app: Starlette) -> None:
    async with app.router.lifespan_context(app), connected(app, "token-of-nobody") as nobody:
        refused = await be_refused(nobody, "remember_fact", LISBON)

    assert "no verified token with a subject" in refused["message"]


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


async def test_without_a_guard_only_this_machine_may_connect(memory: Memory) -> None:
    with pytest.raises(ConfigurationError, match="without a token verifier"):
        http_app(build_server(memory, from_verified_token), "0.0.0.0")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *(("127.0.0.1", True), ("127.8.8.8", True), ("localhost", True), ("::1", True), ("[::1]", True)),
        *(("0.0.0.0", False), ("::", False), ("192.0.2.1", False), ("localhost.evil.example", False), ("", False)),
    ],
)
def test_loopback_is_this_machine_alone(host: str, *, loopback: bool) -> None:
    assert is_loopback(host) is loopback
