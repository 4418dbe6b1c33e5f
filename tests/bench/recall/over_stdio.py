"""How long tools take over stdio in a store of some size, each call in turns with a tool that does nothing."""

import asyncio
import itertools
import os
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mcp import Client

from tests.bench.figures import Cell, percentile
from tests.bench.recall.filling import question, sentence
from tests.bench.run import ROOT, noop, ours

ROUNDS = 300
WARM_UP = 20

NO_OP = "no-op"
Calls = Mapping[str, Callable[[], Awaitable[object]]]


async def measure_tools(table: Path, memories: int, environment: Mapping[str, str]) -> dict[str, list[float]]:
    """Return the seconds of each call. A name that ends with "after a write" is timed when a fact was just saved."""
    draw, fresh = random.Random(2), itertools.count(1)
    async with Client(noop()) as floor, Client(ours(table, **environment)) as server:
        await _until_complete(server)

        async def write() -> object:
            return await server.call_tool("remember_fact", {"fact": f"Seen today: {sentence(-next(fresh))}"})

        async def recall() -> object:
            return await server.call_tool("recall", {"query": question(draw.randrange(memories))})

        async def load_context() -> object:
            return await server.call_tool("load_context", {})

        reads: Calls = {NO_OP: lambda: floor.call_tool("noop", {}), "recall": recall, "load_context": load_context}
        times = await _timed(reads, ROUNDS)
        after: Calls = {"recall right after a write": recall, "load_context right after a write": load_context}
        return times | await _timed({"remember_fact": write}, ROUNDS // 3) | await _timed(after, ROUNDS // 3, write)


def rows(name: str, times: Mapping[str, list[float]]) -> list[dict[str, Cell]]:
    """Return one line for each tool: milliseconds, and how many times the call that does nothing it takes."""
    floor = percentile(times[NO_OP], 0.5)
    return [
        {
            "": f"{name}: {tool}",
            "p50": percentile(seconds, 0.5),
            "p95": percentile(seconds, 0.95),
            "slowest": 1000 * max(seconds),
            "p50 of a no-op": f"{percentile(seconds, 0.5) / floor:.1f} x",
        }
        for tool, seconds in times.items()
    ]


@contextmanager
def without_onnxruntime(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the environment of a server that does not find onnxruntime, as if it were not installed."""
    (folder / "sitecustomize.py").write_text('import sys\n\nsys.modules["onnxruntime"] = None\n', encoding="utf-8")
    yield {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


async def _timed(
    calls: Calls, rounds: int, before: Callable[[], Awaitable[object]] | None = None
) -> dict[str, list[float]]:
    times: defaultdict[str, list[float]] = defaultdict(list)
    for number in range(rounds + WARM_UP):
        for name, call in calls.items():
            if before is not None:
                await before()
            started = time.perf_counter()
            await call()
            if number >= WARM_UP:
                times[name].append(time.perf_counter() - started)
    return dict(times)


async def _until_complete(server: Client) -> None:
    while True:
        result = await server.call_tool("recall", {"query": question(0)})
        if "missing" not in (result.structured_content or {}):
            return
        await asyncio.sleep(0.2)
