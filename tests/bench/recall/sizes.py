"""How recall behaves with many memories: `python -m tests.bench.recall.sizes --memories 10000 100000`.

Over stdio, as a ratio to a tool that does nothing, measured in turns with it; in process; how long the index takes to
build when a server starts anew; how much memory it takes; many users in one process; and how fast memories are given
vectors of another model.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mcp import Client

from mcp_memory_server import Memory, Scope, Settings, Statement, open_memory
from mcp_memory_server.adapters.built_in.embedder import BuiltInEmbedder
from mcp_memory_server.domain.transcripts import TranscribedTurn
from mcp_memory_server.domain.turns import NewTurn, Role
from tests.bench.run import USER, Timed, median_times, noop, ours

ME = Scope(USER)
ROUNDS = 300
AT_ONCE = 200
TURNS_A_SESSION = 50
FACTS_OF_A_USER = 10
TALK = 20
"""Turns of the conversation in which questions are asked."""
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)

WORDS = {
    "who": "Ana Ben Clara Dora Emil Finn Greta Hugo Ida Jonas Kira Leo Mara Nils Olga Paul Rosa Sven Tara Udo",
    "did": "bought sold repaired painted lost found borrowed photographed cleaned measured cooked planted sketched",
    "what": "bicycle piano tent camera lamp kayak ladder violin toaster carpet telescope drill sofa kettle globe",
    "where": "Porto Bern Lyon Oslo Turin Ghent Graz Malmo Cork Bilbao Split Tartu Brno Patras Vigo",
    "syllables": "ka lo mi ra te vu zo ni pe sha dru gle fro bi",
}


@dataclass(frozen=True)
class Figures:
    """What was measured for one number of memories."""

    kind: str
    memories: int
    over_stdio: float
    no_op: float
    in_process: float
    slowest: float
    in_talk: float
    build_seconds: float
    megabytes: float


async def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--memories", type=int, nargs="+", default=[10_000, 100_000])
    options.add_argument("--kind", nargs="+", choices=["facts", "turns"], default=["facts", "turns"])
    options.add_argument("--users", type=int, default=10_000, help="how many users are asked about in one process")
    chosen = options.parse_args()
    for kind in chosen.kind:
        for memories in chosen.memories:
            _print(await measure(kind, memories))
    if chosen.users:
        print(await measure_users(chosen.users), flush=True)
    print(f"embedding: {await texts_a_second():,.0f} texts a second")


async def measure(kind: str, memories: int) -> Figures:
    """Fill a file, then ask it in process and over stdio."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "memory.db"
        await (fill_facts if kind == "facts" else fill_turns)(table, memories)
        build, times, in_talk, megabytes = await _in_process(table, memories)
        over_stdio, floor = await _over_stdio(table, memories)
        return Figures(
            kind,
            memories,
            over_stdio,
            floor,
            statistics.median(times),
            sorted(times)[int(0.99 * ROUNDS)],
            statistics.median(in_talk),
            build,
            megabytes,
        )


def sentence(number: int) -> str:
    """Return a sentence with a word that few others have."""
    draw = random.Random(number)
    words = {kind: draw.choice(choices.split()) for kind, choices in WORDS.items()}
    rare = "".join(draw.choices(WORDS["syllables"].split(), k=3))
    what = f"{words['did']} a {rare} {words['what']} in {words['where']}"
    return f"{words['who']} {what} for {draw.randint(2, 900)} euros, number {number}."


def question(number: int) -> str:
    """Return a question that the sentence of the same number answers."""
    _, did, _, rare, what, *_ = sentence(number).split()
    return f"Who {did} the {rare} {what}?"


async def fill_facts(table: Path, memories: int) -> None:
    async with open_memory(Settings(table=f"sqlite://{table}", user=USER)) as memory:
        for start in range(0, memories, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, memories))
            learning = (memory.facts.learn(ME, Statement(sentence(n), f"things/{n}")) for n in numbers)
            await asyncio.gather(*learning)


async def fill_turns(table: Path, memories: int) -> None:
    turns = [
        TranscribedTurn(
            f"session {number // TURNS_A_SESSION}",
            NewTurn(Role.USER, sentence(number), said_at=BEGINNING + timedelta(minutes=number)),
            f"fill-{number}",
        )
        for number in range(memories)
    ]
    async with open_memory(Settings(table=f"sqlite://{table}", user=USER, sessions="none")) as memory:
        await memory.conversations.transcribe(ME, turns)


async def _in_process(table: Path, memories: int) -> tuple[float, list[float], list[float], float]:
    draw = random.Random(1)
    before = _resident()
    async with open_memory(Settings(table=f"sqlite://{table}", user=USER)) as memory:
        started = time.perf_counter()
        while (await memory.recall.search(ME, question(0))).missing:  # noqa: ASYNC110 - an index tells nobody
            await asyncio.sleep(0.05)
        build = time.perf_counter() - started
        megabytes = _resident() - before
        times = [await _timed(memory, question(draw.randrange(memories))) for _ in range(ROUNDS)]
        in_talk = [await _said_and_asked(memory, number, question(draw.randrange(memories))) for number in range(TALK)]
    return build, times, in_talk, megabytes


async def _said_and_asked(memory: Memory, number: int, asked: str) -> float:
    """Return how long an answer takes in a running conversation, after one more turn of it."""
    said = NewTurn(Role.USER, f"I saw the {sentence(-number)}")
    await memory.conversations.append(Scope(USER, "a conversation that is running"), said)
    return await _timed(memory, asked)


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
            first = [
                await _timed(memory, question(n), _owner(n)) for n in range(0, users * FACTS_OF_A_USER, FACTS_OF_A_USER)
            ]
            drawn = [draw.randrange(users * FACTS_OF_A_USER) for _ in range(10 * ROUNDS)]
            again = [await _timed(memory, question(n), _owner(n)) for n in drawn]
    return (
        f"{users:,} users of {FACTS_OF_A_USER} facts in one process: p50 {statistics.median(first):.2f} ms when first "
        f"asked about, {statistics.median(again):.2f} ms after that; {_resident() - before:.0f} MB"
    )


def _owner(number: int) -> Scope:
    return Scope(f"user {number // FACTS_OF_A_USER}")


async def _timed(memory: Memory, asked: str, scope: Scope = ME) -> float:
    started = time.perf_counter()
    await memory.recall.search(scope, asked)
    return 1000 * (time.perf_counter() - started)


async def _over_stdio(table: Path, memories: int) -> tuple[float, float]:
    draw = random.Random(2)
    async with Client(noop()) as floor, Client(ours(table)) as server:
        while await _is_incomplete(server):  # noqa: ASYNC110 - an index tells nobody
            await asyncio.sleep(0.2)
        timed: dict[str, Timed] = {
            "no-op": lambda: floor.call_tool("noop", {}),
            "recall": lambda: server.call_tool("recall", {"query": question(draw.randrange(memories))}),
        }
        times = await median_times(timed, ROUNDS)
    return times["recall"], times["no-op"]


async def _is_incomplete(server: Client) -> bool:
    result = await server.call_tool("recall", {"query": question(0)})
    return "missing" in (result.structured_content or {})


async def texts_a_second() -> float:
    """Return how many texts of a usual length get a vector in a second."""
    embedder, texts = BuiltInEmbedder(), [sentence(number) for number in range(20_000)]
    await embedder.embed(texts[:1])
    started = time.perf_counter()
    await embedder.embed(texts)
    return len(texts) / (time.perf_counter() - started)


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


def _print(figures: Figures) -> None:
    ratio = figures.over_stdio / figures.no_op
    print(
        f"{figures.memories:,} {figures.kind}: over stdio {figures.over_stdio:.2f} ms = {ratio:.2f} x a no-op "
        f"({figures.no_op:.2f} ms); in process p50 {figures.in_process:.2f} ms, p99 {figures.slowest:.2f} ms, "
        f"right after a turn of a running conversation {figures.in_talk:.2f} ms; "
        f"first answer complete after {figures.build_seconds:.1f} s; {figures.megabytes:.0f} MB",
        flush=True,
    )


if __name__ == "__main__":
    asyncio.run(main())
