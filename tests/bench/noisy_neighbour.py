"""What one user who sends as fast as they can costs another, over HTTP: `python -m tests.bench.noisy_neighbour`.

Prints the times of the quiet user's calls alone and beside the noisy one, with and without the limits of each user.
"""

import asyncio
import itertools
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2

from mcp_memory_server.server.access.token_file import TokenFile
from tests.server.processes import Served, over_http
from tests.server.raw_http import HEADERS

CALLS = 300
PAUSE_SECONDS = 0.02
NOISY_CONNECTIONS = 32
SECONDS = 60
UNLIMITED = "100000"


def calling(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


async def quiet(client: httpx2.AsyncClient, url: str, token: str, calls: int) -> list[float]:
    """Save and recall in turn, as an agent does; return the milliseconds of each call."""
    times: list[float] = []
    for number in range(calls):
        tool = calling("recall", query="lamp") if number % 2 else calling("remember_fact", fact=f"Lamp {number}.")
        began = time.perf_counter()
        answer = await client.post(url, json=tool, headers={"Authorization": f"Bearer {token}"})
        times.append((time.perf_counter() - began) * 1000)
        assert answer.status_code == 200, answer.text
        await asyncio.sleep(PAUSE_SECONDS)
    return sorted(times)


async def noisy(url: str, token: str, answers: dict[int, int]) -> None:
    """Send without a pause, on many connections."""
    numbers = itertools.count()

    async def flood(client: httpx2.AsyncClient) -> None:
        while True:
            number = next(numbers)
            tool = calling("recall", query="box") if number % 2 else calling("remember_fact", fact=f"Box {number}.")
            answer = await client.post(url, json=tool, headers={"Authorization": f"Bearer {token}"})
            answers[answer.status_code] = answers.get(answer.status_code, 0) + 1

    limits = httpx2.Limits(max_connections=NOISY_CONNECTIONS)
    async with httpx2.AsyncClient(headers=HEADERS, timeout=SECONDS, limits=limits) as client:
        await asyncio.gather(*(flood(client) for _ in range(NOISY_CONNECTIONS)))


async def measure(served: Served, tokens: TokenFile) -> dict[str, Any]:
    ana, bo = (tokens.create(name, "memory:read memory:write", "", None)[1] for name in ("ana", "bo"))
    answers: dict[int, int] = {}
    async with httpx2.AsyncClient(headers=HEADERS, timeout=SECONDS) as client:
        await quiet(client, served.url, ana, 20)
        alone = await quiet(client, served.url, ana, CALLS)
        flood = asyncio.create_task(noisy(served.url, bo, answers))
        beside = await quiet(client, served.url, ana, CALLS)
        flood.cancel()
    return {
        "alone": _percentiles(alone),
        "beside": _percentiles(beside),
        "p99 ratio": round(_p99(beside) / _p99(alone), 1),
        "noisy": answers,
    }


def _p99(times: list[float]) -> float:
    return times[int(len(times) * 0.99) - 1]


def _percentiles(times: list[float]) -> dict[str, float]:
    return {"p50": round(times[len(times) // 2], 1), "p99": round(_p99(times), 1)}


def main() -> None:
    """Measure both ways and print JSON."""
    for name, rate in (("without limits", UNLIMITED), ("with limits", "25")):
        with tempfile.TemporaryDirectory() as folder:
            variables = {"MCP_MEMORY_AUTH": "tokens:", "MCP_MEMORY_CALLS_PER_SECOND": rate}
            with over_http(Path(folder) / "memory.db", arguments=(), variables=variables) as served:
                figures = asyncio.run(measure(served, TokenFile(Path(folder) / "tokens.json")))
                print(json.dumps({name: figures}))


if __name__ == "__main__":
    main()
