"""Limits of each user: what is over them is refused as busy, with the time to wait, and nobody else notices."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from mcp_memory_server.errors import BusyError
from mcp_memory_server.server.access.principal import USER_KEY
from mcp_memory_server.server.access.token_file import TokenFile
from mcp_memory_server.server.limits.fair_use import CALLS_AT_ONCE, CALLS_WAITING, RECORD_BYTES, FairUse
from tests.server.processes import Served, over_http
from tests.server.raw_http import send

pytestmark = pytest.mark.anyio

LIST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}


class Monotonic:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def monotonic() -> Monotonic:
    return Monotonic()


@pytest.fixture
def limits(monotonic: Monotonic) -> FairUse:
    return FairUse(calls_per_second=2, records_per_day=3, monotonic=monotonic)


async def call(limits: FairUse, user: str = "ana", *, written_bytes: int = 0) -> None:
    async with limits.call(user, written_bytes=written_bytes):
        pass


async def test_five_seconds_of_calls_may_come_at_once_and_the_next_one_waits(
    limits: FairUse, monotonic: Monotonic
) -> None:
    for _ in range(10):
        await call(limits)
    with pytest.raises(BusyError, match="2 calls per second; try again in 1 s"):
        await call(limits)

    monotonic.seconds += 0.5
    await call(limits)


async def test_records_are_counted_by_the_day_and_by_their_size(limits: FairUse, monotonic: Monotonic) -> None:
    await call(limits, written_bytes=2 * RECORD_BYTES)
    await call(limits, written_bytes=1)
    with pytest.raises(BusyError, match="3 records per day") as refused:
        await call(limits, written_bytes=1)
    await call(limits)  # reading is not saving

    monotonic.seconds += refused.value.retry_after
    await call(limits, written_bytes=1)


async def test_a_user_over_the_limit_does_not_use_up_that_of_another(limits: FairUse) -> None:
    for _ in range(10):
        await call(limits)

    await call(limits, "bo")


async def test_a_refused_call_costs_nothing(limits: FairUse, monotonic: Monotonic) -> None:
    for _ in range(10):
        await call(limits)
    for _ in range(100):
        with pytest.raises(BusyError):
            await call(limits)

    monotonic.seconds += 0.5
    await call(limits)


async def test_more_calls_at_once_wait_for_their_turn_and_too_many_are_refused() -> None:
    limits = FairUse(calls_per_second=1000, records_per_day=1)
    running = 0
    most = 0
    release = asyncio.Event()

    async def hold() -> None:
        nonlocal running, most
        async with limits.call("ana"):
            running += 1
            most = max(most, running)
            await release.wait()
            running -= 1

    async with asyncio.TaskGroup() as group, AsyncExitStack() as stack:
        for _ in range(CALLS_AT_ONCE + CALLS_WAITING):
            group.create_task(hold())
        await asyncio.sleep(0)
        with pytest.raises(BusyError, match="at once"):
            await stack.enter_async_context(limits.call("ana"))
        await stack.enter_async_context(limits.call("bo"))
        release.set()

    assert most == CALLS_AT_ONCE


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, TokenFile]]:
    folder = tmp_path_factory.mktemp("limited")
    slow = {"MCP_MEMORY_AUTH": "tokens:", "MCP_MEMORY_CALLS_PER_SECOND": "0.001", "MCP_MEMORY_RECORDS_PER_DAY": "1"}
    with over_http(folder / "memory.db", arguments=(), variables=slow) as served:
        yield served, TokenFile(folder / "tokens.json")


async def test_over_http_a_busy_user_gets_429_and_others_are_served(served: tuple[Served, TokenFile]) -> None:
    server, tokens = served
    ana, bo = (tokens.create(name, "memory:read memory:write", "", None)[1] for name in ("ana", "bo"))

    answers = [
        send(server.port, json.dumps(LIST).encode(), Authorization=f"Bearer {token}") for token in (ana, ana, bo)
    ]

    assert [answer.status for answer in answers] == [200, 429, 200]
    assert int(answers[1].headers["retry-after"]) > 100
    refused = answers[1].json
    assert refused["id"] == 7
    assert refused["error"]["data"]["error"] == "busy"
    assert refused["error"]["data"]["retry_after_seconds"] == int(answers[1].headers["retry-after"])


async def test_the_users_of_an_orchestrator_are_counted_apart(served: tuple[Served, TokenFile]) -> None:
    server, tokens = served
    token = tokens.create("bot", "memory:read memory:act-for", "", None)[1]

    def status(user: str) -> int:
        message = LIST | {"params": {"_meta": {USER_KEY: user}}}
        return send(server.port, json.dumps(message).encode(), Authorization=f"Bearer {token}").status

    assert [status(user) for user in ("cleo", "dan", "cleo")] == [200, 200, 429]


async def test_a_client_of_the_sdk_sees_the_reason(served: tuple[Served, TokenFile]) -> None:
    server, tokens = served
    token = tokens.create("eve", "memory:read", "", None)[1]
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(server.url, http_client=http)) as client,
    ):
        with pytest.raises(MCPError, match=r"busy: more than 0\.001 calls per second"):
            await client.list_tools()
