"""Over streamable HTTP: who can connect, from where, and with what."""

import asyncio
import json
import socket
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

from tests.server.asking import ERAS, FIVE_TOOLS, Era, use_all_five
from tests.server.processes import COMMAND, Served, environment
from tests.server.raw_http import HEADERS, RawClient, send

pytestmark = pytest.mark.anyio

SECONDS = 30
MANY = 100
LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()


def serve(table: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Try to serve in a way that must be refused."""
    return subprocess.run(
        [*COMMAND, "serve", "--http", *arguments],
        env=environment(table),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.parametrize("era", ERAS)
async def test_all_five_tools_work_with_the_sdk(http_server: Served, era: Era) -> None:
    async with Client(http_server.url, mode=era) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == FIVE_TOOLS
        await use_all_five(client, f"{era} umbrella")


def test_all_five_tools_work_with_a_client_of_another_make(http_server: Served) -> None:
    client = RawClient(http_server.port)

    welcome = client.shake_hands()
    tools = client.request("tools/list")["tools"]
    learned = client.call("remember_fact", fact="Ana's kettle is red.")
    found = client.call("recall", query="kettle")
    client.call("set_preference", key="kettle", value="always on")
    page = client.call("load_context")
    forgotten = client.call("forget", id=learned["id"])

    assert welcome["protocolVersion"] == "2025-06-18"
    assert [tool["name"] for tool in tools] == FIVE_TOOLS
    assert found["memories"][0]["text"] == "Ana's kettle is red."
    assert "- kettle: always on" in page["context"]
    assert forgotten == {"status": "complete", "forgotten": "Ana's kettle is red.", "removed": 1}


def test_no_session_is_kept_so_that_nothing_depends_on_a_connection(http_server: Served) -> None:
    client = RawClient(http_server.port)

    without_shaking_hands = client.call("load_context")

    assert without_shaking_hands["status"] == "complete"


async def test_many_requests_of_the_same_number_each_get_their_own_answer(http_server: Served) -> None:
    async def set_one(client: httpx2.AsyncClient, number: int) -> tuple[str, dict[str, Any]]:
        arguments = {"key": f"shelf {number}", "value": f"book {number}"}
        call = {"name": "set_preference", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        answer = (await client.post(http_server.url, json=message)).json()
        return answer["id"], answer["result"]["structuredContent"]

    async with httpx2.AsyncClient(headers=HEADERS, timeout=SECONDS) as client:
        answers = await asyncio.gather(*(set_one(client, number) for number in range(MANY)))

    assert answers == [
        (1, {"status": "complete", "key": f"shelf {number}", "value": f"book {number}"}) for number in range(MANY)
    ]


def test_it_says_that_it_is_healthy(http_server: Served) -> None:
    health = send(http_server.port, b"", path="/health", method="GET")

    assert (health.status, health.body) == (200, "ok\n")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example:80", "169.254.169.254"])
def test_a_foreign_host_is_turned_away(http_server: Served, host: str) -> None:
    assert send(http_server.port, LIST, Host=host).status == 421


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1.evil.example", "http://localhost", "null"]
)
def test_a_foreign_origin_is_turned_away(http_server: Served, origin: str) -> None:
    assert send(http_server.port, LIST, Origin=origin).status == 403


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_this_machine_is_let_in_under_each_of_its_names(http_server: Served, name: str) -> None:
    address = f"{name}:{http_server.port}"

    assert send(http_server.port, LIST, Host=address, Origin=f"http://{address}").status == 200


def test_a_body_over_a_mebibyte_is_refused_and_one_below_is_read(http_server: Served) -> None:
    def call(length: int) -> bytes:
        params = {"name": "remember_fact", "arguments": {"fact": "x" * length}}
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()

    assert send(http_server.port, call(1024 * 1024)).status == 413
    assert "at most 8,192 bytes" in send(http_server.port, call(1024 * 1024 - 1000)).body


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"null", b"[" * 100_000, b'{"jsonrpc":"2.0","id":1}'])
def test_a_broken_body_is_refused_and_the_next_request_works(http_server: Served, body: bytes) -> None:
    assert send(http_server.port, body).status == 400
    assert send(http_server.port, LIST).status == 200


def test_what_it_says_at_the_start_names_the_user_and_how_to_attach(http_server: Served) -> None:
    assert f"Serving the memory of 'ana' at {http_server.url}" in http_server.said


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_it_does_not_open_itself_to_the_network_without_a_verifier(tmp_path: Path, host: str) -> None:
    refused = serve(tmp_path / "memory.db", "--host", host, "--port", "0")

    (line,) = refused.stderr.splitlines()
    assert refused.returncode == 2
    assert host in line
    assert "--host 127.0.0.1" in line


def test_a_port_in_use_is_named_with_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = serve(tmp_path / "memory.db", "--port", port)

    (line,) = refused.stderr.splitlines()
    assert refused.returncode == 2
    assert port in line
    assert "--port" in line
