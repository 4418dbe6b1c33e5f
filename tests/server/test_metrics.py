"""The page of metrics: what it shows after some calls, and who may see it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette

from mcp_memory_server import Memory
from mcp_memory_server.adapters.opentelemetry.prometheus_page import PrometheusPage
from mcp_memory_server.server.access.gate import Guard
from mcp_memory_server.server.access.host_names import HostNames
from mcp_memory_server.server.access.principal import Permission, Principal
from mcp_memory_server.server.access.verifier import OneToken
from mcp_memory_server.server.app import build_server, needs_of_tools
from mcp_memory_server.server.identity import from_verified_token
from mcp_memory_server.server.transports import http_app
from tests.server.processes import ROOT, Served, environment, over_http
from tests.server.raw_http import RawClient, send

pytestmark = pytest.mark.anyio

SECONDS = 30
OPERATORS_TOKEN = "token-of-an-operator"
PAGE = "http://127.0.0.1:8765/metrics"
WITH_METRICS = "import sys; from mcp_memory_server.cli import main; sys.exit(main([*sys.argv[1:], '--metrics']))"
WITHOUT_THE_PACKAGES = f"import sys; sys.modules['prometheus_client'] = None; {WITH_METRICS}"


@pytest.fixture(scope="module")
def measured_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    table = tmp_path_factory.mktemp("metrics") / "memory.db"
    with over_http(table, start=[sys.executable, "-c", WITH_METRICS]) as served:
        yield served


@pytest.fixture
def page() -> PrometheusPage:
    return PrometheusPage()


@pytest.fixture
def guarded(memory: Memory, page: PrometheusPage) -> Starlette:
    operator = Principal("scraper", frozenset({Permission.OPERATE}))
    guard = Guard(HostNames(["memory.example"], secure=True), OneToken(OPERATORS_TOKEN, operator))
    return http_app(build_server(memory, from_verified_token), guard, needs_of_tools(), metrics_page=page.render)


async def seen(app: Starlette, *, peer: str = "127.0.0.1", url: str = PAGE, token: str | None = None) -> int:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app, client=(peer, 50_000))) as client:
        return (await client.get(url, headers=headers)).status_code


def get(served: Served, **headers: str) -> tuple[int, str]:
    answer = send(served.port, b"", path="/metrics", method="GET", **headers)
    return answer.status, answer.body


def refused(code: str, table: Path, *arguments: str) -> str:
    """Try to serve in a way that must be refused, and return the one line that says why."""
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", *arguments, "--port", "0"],
        env=environment(table),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    return line


def test_after_some_calls_the_page_shows_what_they_took(measured_server: Served) -> None:
    client = RawClient(measured_server.port)
    client.call("remember_fact", fact="Ana's secret colour is blue.")
    client.call("recall", query="colour")

    status, text = get(measured_server)

    assert status == 200
    assert "target_info{" in text
    assert 'memory_read_latency_ms_count{engine="sqlite",operation="query",result="ok"}' in text
    assert 'memory_write_latency_ms_bucket{engine="sqlite",le="30.0"' in text
    assert 'memory_items_per_query_sum{engine="sqlite"}' in text
    assert "secret" not in text


def test_the_page_is_text_as_prometheus_reads_it(measured_server: Served) -> None:
    with httpx2.Client() as client:
        answer = client.get(f"http://127.0.0.1:{measured_server.port}/metrics")

    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert all(line.startswith(("#", "target_info", "memory_")) for line in answer.text.splitlines())


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "169.254.169.254"])
def test_a_foreign_host_does_not_see_it(measured_server: Served, host: str) -> None:
    assert get(measured_server, Host=host)[0] == 421


def test_a_foreign_origin_does_not_see_it(measured_server: Served) -> None:
    assert get(measured_server, Origin="https://evil.example")[0] == 403


def test_whoever_comes_through_a_proxy_on_this_machine_does_not_see_it(measured_server: Served) -> None:
    assert get(measured_server, X_Forwarded_For="192.0.2.1")[0] == 403


def test_without_the_option_there_is_no_such_page(http_server: Served) -> None:
    assert get(http_server)[0] == 404


async def test_behind_a_guard_this_machine_sees_it_without_a_token(guarded: Starlette) -> None:
    assert await seen(guarded) == 200


@pytest.mark.parametrize("peer", ["192.0.2.1", "10.0.0.7", "2001:db8::1"])
async def test_behind_a_guard_no_other_machine_sees_it(guarded: Starlette, peer: str) -> None:
    assert await seen(guarded, peer=peer) == 403


async def test_behind_a_guard_a_token_that_may_operate_sees_it_from_anywhere(guarded: Starlette) -> None:
    public = "https://memory.example/metrics"

    assert await seen(guarded, peer="192.0.2.1", url=public, token=OPERATORS_TOKEN) == 200
    assert await seen(guarded, peer="192.0.2.1", url=public, token="invented") == 401


async def test_behind_a_guard_its_public_name_does_not_lead_to_it(guarded: Starlette) -> None:
    assert await seen(guarded, url="https://memory.example/metrics") == 421


def test_over_stdio_there_is_no_page_and_the_message_says_what_to_add(tmp_path: Path) -> None:
    assert "add --http" in refused(WITH_METRICS, tmp_path / "memory.db")


def test_without_the_packages_the_message_says_what_to_install(tmp_path: Path) -> None:
    line = refused(WITHOUT_THE_PACKAGES, tmp_path / "memory.db", "--http")

    assert "pip install 'mcp-agent-memory[metrics]'" in line


@pytest.mark.parametrize(
    ("module", "absent"),
    [("mcp_memory_server", "opentelemetry"), ("mcp_memory_server.cli.serve", "opentelemetry.sdk")],
)
def test_nobody_waits_for_the_sdk_to_load_who_did_not_ask_for_metrics(module: str, absent: str) -> None:
    program = f"import sys, {module}; print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert not [name for name in loaded.stdout.split() if name == absent or name.startswith(f"{absent}.")]
