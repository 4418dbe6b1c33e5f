"""Measure a cold start and every tool over stdio, as ratios to a server that does nothing.

make bench                       the table below
python tests/bench/run.py --json the same for programs
"""

import argparse
import asyncio
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from mcp_memory_server import Scope, Settings, Statement, open_memory
from tests.bench.report import COLD_START_BUDGET, READ_BUDGET, WRITE_BUDGET, Measured, print_report

USER = "bench"
ROOT = Path(__file__).parents[2]

Timed = Callable[[], Awaitable[object]]


async def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--facts", type=int, default=1000, help="how many facts the user has (default: %(default)s)")
    options.add_argument("--rounds", type=int, default=300, help="calls of each tool (default: %(default)s)")
    options.add_argument("--starts", type=int, default=9, help="cold starts of each server (default: %(default)s)")
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "memory.db"
        await fill(table, chosen.facts)
        measured = [*await cold_starts(table, chosen.starts), *await calls(table, Path(folder), chosen.rounds)]
    if chosen.json:
        print(json.dumps([vars(one) for one in measured], indent=2))
    else:
        print_report(f"{chosen.facts:,} facts, {chosen.rounds} calls, {chosen.starts} starts", measured)


async def fill(table: Path, facts: int) -> None:
    async with open_memory(Settings(table=f"sqlite://{table}", user=USER)) as memory:
        known = [
            Statement(f"Project {n} uses framework {n % 17}, costs {n}.", f"work/project/{n}") for n in range(facts)
        ]
        for start in range(0, facts, 200):
            await asyncio.gather(*(memory.facts.learn(Scope(USER), each) for each in known[start : start + 200]))
        await memory.preferences.set(Scope(USER), "tone", "brief")


async def cold_starts(table: Path, starts: int) -> list[Measured]:
    """Time from starting the process to the first answer of a tool, one server after the other."""
    times: dict[str, list[float]] = {name: [] for name in ("no-op", "load_context", "recall", "remember_fact")}
    arguments: dict[str, dict[str, Any]] = {
        "load_context": {},
        "recall": {"query": "What does project 77 cost?"},
        "remember_fact": {"fact": "Ana likes tea.", "topic": "taste/tea"},
    }
    for _ in range(starts):
        times["no-op"].append(await first_answer(noop(), "noop", {}))
        for tool, given in arguments.items():
            times[tool].append(await first_answer(ours(table), tool, given))
    floor = statistics.median(times["no-op"])
    return [Measured("cold start, no-op server", floor * 1000, floor * 1000, None)] + [
        Measured(f"cold start, first {tool}", statistics.median(times[tool]) * 1000, floor * 1000, COLD_START_BUDGET)
        for tool in arguments
    ]


async def first_answer(server: StdioServerParameters, tool: str, arguments: dict[str, Any]) -> float:
    started = time.perf_counter()
    async with Client(server) as client:
        answer = await client.call_tool(tool, arguments)
        took = time.perf_counter() - started
    if answer.is_error:
        raise SystemExit(f"{tool} failed: {answer.content}")
    return took


async def calls(table: Path, folder: Path, rounds: int) -> list[Measured]:
    """Time of one call. The tools take turns, so that whatever else the machine does falls on all of them alike."""
    numbers = iter(range(10**9))
    async with Client(noop()) as floor, Client(ours(table)) as server:
        with DurableCommit(folder / "floor.db") as commit:
            timed: dict[str, Timed] = {
                "no-op": lambda: floor.call_tool("noop", {}),
                "recall": lambda: server.call_tool("recall", {"query": f"What costs project {next(numbers) % 1000}?"}),
                "load_context": lambda: server.call_tool("load_context", {}),
                "commit": commit.once,
                "remember_fact": lambda: server.call_tool("remember_fact", {"fact": f"Ana saw film {next(numbers)}."}),
                "set_preference": lambda: server.call_tool(
                    "set_preference", {"key": "tone", "value": f"brief {next(numbers)}"}
                ),
            }
            reads = await median_times({name: timed[name] for name in ("no-op", "recall", "load_context")}, rounds)
            writes = await median_times(
                {name: timed[name] for name in ("no-op", "commit", "remember_fact", "set_preference")}, rounds
            )
            forgetting = await forgets(server, min(rounds, 50))
    durable = writes["no-op"] + writes["commit"]
    return [
        Measured("no-op call", reads["no-op"], reads["no-op"], None),
        Measured("bare durable commit", writes["commit"], writes["commit"], None),
        Measured("recall", reads["recall"], reads["no-op"], READ_BUDGET),
        Measured("load_context", reads["load_context"], reads["no-op"], READ_BUDGET),
        Measured("remember_fact", writes["remember_fact"], durable, WRITE_BUDGET),
        Measured("set_preference", writes["set_preference"], durable, WRITE_BUDGET),
        Measured("forget", forgetting, durable, None),
    ]


async def median_times(timed: dict[str, Timed], rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in timed}
    for number in range(rounds + 20):
        for name, work in timed.items():
            started = time.perf_counter()
            await work()
            if number >= 20:  # the first ones warm up
                times[name].append(time.perf_counter() - started)
    return {name: statistics.median(taken) * 1000 for name, taken in times.items()}


async def forgets(server: Client, rounds: int) -> float:
    times: list[float] = []
    for number in range(rounds):
        saved = await server.call_tool("remember_fact", {"fact": f"To be forgotten: {number}."})
        started = time.perf_counter()
        await server.call_tool("forget", {"id": (saved.structured_content or {})["id"]})
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


class DurableCommit:
    """One row, one commit, on the disk: the least that a write can cost."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (x TEXT)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    async def once(self) -> None:
        self._connection.execute("INSERT INTO t VALUES (?)", ("x" * 200,))


def noop() -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("noop_server.py"))])


def ours(table: Path, **more: str) -> StdioServerParameters:
    """Return how the real server is started on a table; ``more`` is set in its environment."""
    settings = {"MCP_MEMORY_TABLE": f"sqlite://{table}", "MCP_MEMORY_USER": USER, "PYTHONPATH": str(ROOT)}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "mcp_memory_server"], env={**os.environ, **settings, **more}
    )


if __name__ == "__main__":
    asyncio.run(main())
