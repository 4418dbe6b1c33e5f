"""Told to stop in the middle of work, the server ends in time and loses nothing that it acknowledged."""

import asyncio
import time
from pathlib import Path

import httpx2
import pytest

from mcp_memory_server import Settings, open_memory
from mcp_memory_server.server.transports import GRACE_SECONDS
from tests.server.asking import ANA
from tests.server.processes import Served, over_http
from tests.server.raw_http import HEADERS, RawClient

pytestmark = pytest.mark.anyio

WRITERS = 8
ENOUGH = 60


async def write_until_it_stops(served: Served, writer: int, acknowledged: set[str], enough: asyncio.Event) -> None:
    """Set one preference after another. A refused or broken request is not acknowledged, and ends the writing."""
    async with httpx2.AsyncClient(headers=HEADERS, timeout=GRACE_SECONDS) as client:
        for number in range(10_000):
            key = f"{writer}/{number}"
            call = {"name": "set_preference", "arguments": {"key": key, "value": "kept"}}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            try:
                answer = await client.post(served.url, json=message)
            except httpx2.HTTPError:
                return
            if answer.status_code != 200 or answer.json()["result"]["isError"]:
                return
            acknowledged.add(key)
            if len(acknowledged) == ENOUGH:
                enough.set()


async def terminate(served: Served, enough: asyncio.Event) -> float:
    """Stop the server when it has done enough, and return how long it took."""
    await enough.wait()
    started = time.monotonic()
    served.process.terminate()
    await asyncio.to_thread(served.process.wait, GRACE_SECONDS + 5)
    return time.monotonic() - started


async def test_terminating_it_under_load_ends_it_in_time_and_loses_nothing(memory_file: Path) -> None:
    acknowledged: set[str] = set()
    enough = asyncio.Event()
    with over_http(memory_file) as served:
        stopping = asyncio.create_task(terminate(served, enough))
        await asyncio.gather(*(write_until_it_stops(served, writer, acknowledged, enough) for writer in range(WRITERS)))
        seconds = await stopping

    async with open_memory(Settings(table=f"sqlite://{memory_file}")) as memory:
        kept = {preference.key for preference in await memory.preferences.all(ANA)}
    assert served.process.returncode == 0
    assert seconds < GRACE_SECONDS
    assert acknowledged - kept == set()


def test_after_a_clean_end_only_the_one_file_is_left(memory_file: Path) -> None:
    with over_http(memory_file) as served:
        RawClient(served.port).call("set_preference", key="tone", value="brief")
        served.process.terminate()
        served.process.wait(GRACE_SECONDS + 5)

    assert served.process.returncode == 0
    assert [file.name for file in memory_file.parent.iterdir()] == [memory_file.name]
