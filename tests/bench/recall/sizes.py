"""How recall behaves with many memories: `python -m tests.bench.recall.sizes --memories 10000 100000`.

Over stdio, also right after a write, with onnxruntime and with numpy alone; in process; how long the index takes to
build when a server starts anew; how much memory it takes; many users in one process; how fast texts are embedded.
"""

import argparse
import asyncio
import os
import random
import shlex
import statistics
import sys
import tempfile
import time
from pathlib import Path

from mcp_memory_server import Memory, Scope, Settings, Statement, open_memory
from mcp_memory_server.adapters.built_in.embedder import BuiltInEmbedder
from mcp_memory_server.adapters.multilingual_e5.embedder import MultilingualE5Embedder
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.ports.embedder import Embedder
from tests.bench.figures import Cell, Figures, percentile, print_figures
from tests.bench.recall.filling import AT_ONCE, ME, fill_facts, fill_turns, question, sentence
from tests.bench.recall.over_stdio import ROUNDS, measure_tools, rows, without_onnxruntime
from tests.bench.recall.recorded import Section, record
from tests.bench.run import USER

FACTS_OF_A_USER = 10
TALK = 20
"""Turns of the conversation in which questions are asked."""


async def main() -> None:
    options = _options()
    over_stdio: list[dict[str, Cell]] = []
    in_process: list[dict[str, Cell]] = []
    for kind in options.kind:
        for memories in options.memories:
            with tempfile.TemporaryDirectory() as folder:
                table = Path(folder) / "memory.db"
                await (fill_facts if kind == "facts" else fill_turns)(table, memories)
                in_process.append(await _in_process(table, f"{memories:,} {kind}", memories))
                for library in options.library:
                    with without_onnxruntime(Path(folder)) as numpy_alone:
                        environment = {**dict(options.set), **(numpy_alone if library == "numpy" else {})}
                        times = await measure_tools(table, memories, environment)
                    over_stdio += rows(f"{memories:,} {kind}, {library}", times)
    load = f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} at the end"
    tables = [Figures("milliseconds over stdio", over_stdio, [load]), Figures("milliseconds in process", in_process)]
    for figures in tables:
        print_figures(figures)
    if options.users:
        print(await measure_users(options.users), flush=True)
    for name, model in {"coarse": BuiltInEmbedder(), "fine": MultilingualE5Embedder()}.items():
        print(f"embedding, {name}: {await texts_a_second(model):,.0f} texts a second")
    if options.write:
        command = f"python -m tests.bench.recall.sizes {shlex.join(sys.argv[1:])}"
        record([Section("latency", tables).measured_by(command)])


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--memories", type=int, nargs="+", default=[10_000, 100_000])
    options.add_argument("--kind", nargs="+", choices=["facts", "turns"], default=["facts", "turns"])
    options.add_argument("--library", nargs="+", choices=["onnxruntime", "numpy"], default=["onnxruntime", "numpy"])
    options.add_argument("--users", type=int, default=10_000, help="how many users are asked about in one process")
    options.add_argument(
        "--set", nargs="+", type=_setting, default=[], metavar="NAME=VALUE", help="environment of the server"
    )
    options.add_argument("--write", action="store_true", help="renew docs/recall.md, its charts and its figures")
    return options.parse_args()


def _setting(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


async def _in_process(table: Path, name: str, memories: int) -> dict[str, Cell]:
    draw = random.Random(1)
    before = _resident()
    async with open_memory(Settings(table=f"sqlite://{table}", user=USER)) as memory:
        started = time.perf_counter()
        while (await memory.recall.search(ME, question(0))).missing:  # noqa: ASYNC110 - an index tells nobody
            await asyncio.sleep(0.05)
        build = time.perf_counter() - started
        megabytes = _resident() - before
        times = [await _seconds(memory, question(draw.randrange(memories))) for _ in range(ROUNDS)]
        in_talk = [await _said_and_asked(memory, number, question(draw.randrange(memories))) for number in range(TALK)]
    return {
        "": name,
        "p50": percentile(times, 0.5),
        "p95": percentile(times, 0.95),
        "right after a turn": percentile(in_talk, 0.5),
        "seconds until the first complete answer": build,
        "megabytes": int(megabytes),
    }


async def _said_and_asked(memory: Memory, number: int, asked: str) -> float:
    """Return how long an answer takes in a running conversation, after one more turn of it."""
    said = NewTurn(Role.USER, f"I saw the {sentence(-number)}")
    await memory.conversations.append(Scope(USER, "a conversation that is running"), said)
    return await _seconds(memory, asked)


async def measure_users(users: int) -> str:
    """Ask about each of many users once, which builds an index for each, and then about any of them."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "memory.db"
        async with open_memory(Settings(table=f"sqlite://{table}", user=USER)) as memory:
            for start in range(0, users * FACTS_OF_A_USER, AT_ONCE):
                numbers = range(start, min(start + AT_ONCE, users * FACTS_OF_A_USER))
                learning = (memory.facts.learn(_owner(n), Statement(sentence(n), f"things/{n}")) for n in numbers)
                await asyncio.gather(*learning)
        draw, before = random.Random(3), _resident()
        async with open_memory(Settings(table=f"sqlite://{table}", user=USER)) as memory:
            numbers = range(0, users * FACTS_OF_A_USER, FACTS_OF_A_USER)
            first = [await _seconds(memory, question(n), _owner(n)) for n in numbers]
            drawn = [draw.randrange(users * FACTS_OF_A_USER) for _ in range(10 * ROUNDS)]
            again = [await _seconds(memory, question(n), _owner(n)) for n in drawn]
    return (
        f"{users:,} users of {FACTS_OF_A_USER} facts in one process: p50 {1000 * statistics.median(first):.2f} ms when "
        f"first asked about, {1000 * statistics.median(again):.2f} ms after that; {_resident() - before:.0f} MB"
    )


def _owner(number: int) -> Scope:
    return Scope(f"user {number // FACTS_OF_A_USER}")


async def _seconds(memory: Memory, asked: str, scope: Scope = ME) -> float:
    started = time.perf_counter()
    await memory.recall.search(scope, asked)
    return time.perf_counter() - started


async def texts_a_second(embedder: Embedder, texts: int = 200) -> float:
    """Return how many texts of a usual length get a vector in a second."""
    sentences = [sentence(number) for number in range(texts)]
    await embedder.embed(sentences[:1])
    started = time.perf_counter()
    await embedder.embed(sentences)
    return texts / (time.perf_counter() - started)


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


if __name__ == "__main__":
    asyncio.run(main())
