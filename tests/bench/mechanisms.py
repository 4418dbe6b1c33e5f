"""Measure what single mechanisms save: each with its mechanism and without it, in turns, in one run.

make bench-mechanisms                          all of them
python -m tests.bench.mechanisms streams       only this: streams, tokens or reads
"""

import asyncio
import base64
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from mcp_memory_server.adapters.sqlite import item_table
from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.adapters.tiktoken.token_counter import read_ranks
from mcp_memory_server.domain.kernel.items import Key, Put
from tests.bench.report import Measured, print_report

ROOT = Path(__file__).parents[2]
CALLS = 500
STARTS = 15
READS = 2_000

_TIMED = """
import time
from tiktoken import Encoding
from tiktoken.load import load_tiktoken_bpe
from mcp_memory_server.adapters.tiktoken import token_counter
started = time.process_time()
{work}
print(time.process_time() - started)
"""
"""The packages are loaded before: only the processor time of the work is counted."""


async def measure_streams() -> list[Measured]:
    """Call a tool that does nothing, on streams that the event loop awaits and on those of the SDK."""
    async with Client(_noop("--own-streams")) as own, Client(_noop()) as sdk:
        times = await _in_turns(CALLS, own=lambda: own.call_tool("noop", {}), sdk=lambda: sdk.call_tool("noop", {}))
    return [Measured("stdio call, against the SDK's streams", times["own"], times["sdk"], None)]


def measure_tokens() -> list[Measured]:
    """Load the token ranks in a new process: the first step, all of them, and the form in which they are published."""
    with tempfile.TemporaryDirectory() as folder:
        published = Path(folder) / "published.tiktoken"
        lines = (b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in read_ranks().items())
        published.write_bytes(b"".join(lines))
        ranks = f"load_tiktoken_bpe({str(published)!r})"
        works = {
            "first": "token_counter.count_tokens('x')",
            "all": "token_counter.load_exact()",
            "published": f"Encoding('x', pat_str='.', mergeable_ranks={ranks}, special_tokens={{}})",
        }
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(STARTS):
            for name, work in works.items():
                times[name].append(_timed_apart(work))
    found = {name: statistics.median(each) * 1000 for name, each in times.items()}
    return [
        Measured("tokens, first step, against all", found["first"], found["all"], None),
        Measured("tokens, all, against published", found["all"], found["published"], None),
    ]


async def measure_reads() -> list[Measured]:
    """Read one item of a SQLite file on the event loop and, with that turned off, in a thread."""
    few = item_table.FEW
    with tempfile.TemporaryDirectory() as folder:
        table = await SqliteItemTable.open(Path(folder) / "memory.db")
        key = Key("USER#ana", "PROFILE")
        await table.put(Put(key, {"count": 1}))

        async def read_in_a_thread() -> None:
            item_table.FEW = 0
            try:
                await table.get(key)
            finally:
                item_table.FEW = few

        times = await _in_turns(READS, here=lambda: table.get(key), there=read_in_a_thread)
        await table.close()
    return [Measured("SQLite read, against a thread", times["here"], times["there"], None)]


async def _in_turns(rounds: int, **works: Callable[[], Awaitable[object]]) -> dict[str, float]:
    """Return the median of each in milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            started = time.perf_counter()
            await work()
            times[name].append(time.perf_counter() - started)
    return {name: statistics.median(each) * 1000 for name, each in times.items()}


def _noop(*arguments: str) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=["-m", "tests.bench.noop_server", *arguments], cwd=ROOT)


def _timed_apart(work: str) -> float:
    command = [sys.executable, "-c", _TIMED.format(work=work)]
    no_cache = {**os.environ, "TIKTOKEN_CACHE_DIR": ""}
    return float(subprocess.run(command, cwd=ROOT, env=no_cache, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Measure what is named, or everything."""
    chosen = sys.argv[1:] or ["streams", "tokens", "reads"]
    measured: list[Measured] = []
    if "streams" in chosen:
        measured += asyncio.run(measure_streams())
    if "tokens" in chosen:
        measured += measure_tokens()
    if "reads" in chosen:
        measured += asyncio.run(measure_reads())
    print_report("the floor is the same without the mechanism", measured)


if __name__ == "__main__":
    main()
