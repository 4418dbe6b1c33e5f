"""Measure what memory, state and breakers cost an agent: time as a ratio to the bare agent, and tokens.

make bench-plugins                     this, and what the other benchmarks of plugins measure
python -m tests.bench.agents turn      only this: turn, threads or tokens
python -m tests.bench.agents --json figures.json
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from strands import Agent, tool

from agent_plugins.memory.agent_tools import AGENT_TOOLS
from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.state.changes import fill_slot, need_slots
from agent_plugins.strands import MemoryPlugin, for_user
from examples.scripted_model import Line, ScriptedModel, call
from mcp_memory_server import Scope, Settings, Statement, count_tokens
from mcp_memory_server.adapters.tiktoken.token_counter import load_exact
from tests.bench.figures import Cell, Figures, percentile, print_figures

TURNS = 150
FACTS = 200
AGENTS = 100
TURNS_OF_EACH = 3
HISTORY = 20
"""An agent starts anew after so many turns: Strands copies the whole history at each call of the model."""

Turn = Callable[[int], Awaitable[object]]


@tool
def stock(title: str) -> str:
    """Tell how many copies there are."""
    return f"{title}: 3 copies"


def agent(plugin: MemoryPlugin | None, *script: Line) -> Agent:
    model = ScriptedModel(*script)
    return Agent(model=model, plugins=None if plugin is None else [plugin], tools=[stock], callback_handler=None)


def turns_of(plugin: MemoryPlugin | None, *script: Line) -> Turn:
    """Return what takes a turn: of the same agent, in a conversation that begins anew now and then."""
    agents = [agent(plugin, *script * HISTORY) for _ in range(TURNS // HISTORY + 2)]

    async def turn(number: int) -> object:
        state = for_user("ana", f"session {id(agents)} {number // HISTORY}")
        return await agents[number // HISTORY].invoke_async(f"Question {number}?", invocation_state=state)

    return turn


def measure_turn(shared: SharedMemory) -> Figures:
    """Take turns with and without the plugin alternately, so that whatever else the machine does falls on both."""
    plain: Sequence[Line] = ("An answer.",)
    with_tool: Sequence[Line] = (call("stock", title="Dune"), "Three copies.")
    plugin = MemoryPlugin(memory=shared)
    work = {
        ("an answer", "bare"): turns_of(None, *plain),
        ("an answer", "with memory, state and breakers"): turns_of(plugin, *plain),
        ("a call of a tool, then an answer", "bare"): turns_of(None, *with_tool),
        ("a call of a tool, then an answer", "with memory, state and breakers"): turns_of(plugin, *with_tool),
    }
    times: Mapping[tuple[str, str], list[float]] = {what: [] for what in work}
    cpu: dict[tuple[str, str], float] = dict.fromkeys(work, 0.0)

    async def run() -> None:
        for number in range(TURNS):
            for what, turn in work.items():
                began, busy = time.perf_counter(), time.process_time()
                await turn(number)
                times[what].append(time.perf_counter() - began)
                cpu[what] += time.process_time() - busy

    asyncio.run(run())
    rows: list[dict[str, Cell]] = []
    for (what, how), taken in times.items():
        floor = times[what, "bare"]
        rows.append(
            {
                "what": f"{what}, {how}",
                "p50 ms": percentile(taken, 0.5),
                "p95 ms": percentile(taken, 0.95),
                "times bare": percentile(taken, 0.5) / percentile(floor, 0.5),
                "CPU ms": cpu[what, how] / TURNS * 1000,
                "CPU, times bare": cpu[what, how] / cpu[what, "bare"],
            }
        )
    return Figures(
        f"turn: a whole turn of a Strands agent, {FACTS} facts known, on the embedded default",
        rows,
        (
            f"{TURNS} turns each, taken alternately; the model is a script and takes no time, so this is all overhead",
            "each message is on the disk before the agent has answered: 2 for an answer, 4 with a tool; and the state",
        ),
    )


def measure_threads(shared: SharedMemory) -> Figures:
    """Let a hundred agents talk at once, each in a thread of its own, and count what was kept."""
    plugins = [MemoryPlugin(f"user-{number % 10}", f"threads-{number}", memory=shared) for number in range(AGENTS)]

    def talk(plugin: MemoryPlugin) -> None:
        talker = agent(plugin, *(call("stock", title="Dune"), "Three copies.") * TURNS_OF_EACH)
        for number in range(TURNS_OF_EACH):
            talker(f"Question {number}?")

    began = time.perf_counter()
    with ThreadPoolExecutor(AGENTS) as threads:
        list(threads.map(talk, plugins))
    took = time.perf_counter() - began

    async def kept() -> int:
        memory = await shared.get()
        scopes = [Scope(f"user-{number % 10}", f"threads-{number}") for number in range(AGENTS)]
        return sum([(await memory.conversations.load(scope)).turn_count for scope in scopes])

    said = AGENTS * TURNS_OF_EACH * 4
    row: dict[str, Cell] = {
        "agents": AGENTS,
        "turns": AGENTS * TURNS_OF_EACH,
        "turns a second": AGENTS * TURNS_OF_EACH / took,
        "messages said": said,
        "messages kept": asyncio.run(kept()),
    }
    return Figures("threads: a hundred agents in threads on one memory", [row])


def measure_tokens(shared: SharedMemory) -> Figures:
    """Count what a model reads beside the conversation."""
    plugin = MemoryPlugin(memory=shared)
    rows: list[dict[str, Cell]] = [{"what": "the five tools, once", "tokens": _tools()}]
    for what, user, session in (
        ("nothing known", "nobody", "first"),
        (f"{FACTS} facts known", "ana", "first"),
        (f"{FACTS} facts, a state with 4 slots, a resumed session", "ana", "resumed"),
    ):
        rows.append({"what": f"a call of the model, {what}", "tokens": _told(plugin, user, f"tokens {session}")})
    notes = ("counted with cl100k; the budget for all of it is max_tokens=800, fences included",)
    return Figures("tokens: what a model reads beside the conversation", rows, notes)


def _tools() -> int:
    described = (
        {"name": each.name, "description": each.description, "schema": each.input_schema} for each in AGENT_TOOLS
    )
    return sum(count_tokens(json.dumps(each)) for each in described)


def _told(plugin: MemoryPlugin, user: str, session: str) -> int:
    state = for_user(user, session)
    if session.endswith("resumed"):
        slots = [fill_slot(name, f"value of {name}", confirmed=True) for name in ("title", "author", "price")]
        plugin.coordinator(state).change_now(need_slots("address"), *slots)
        agent(plugin, "It arrives on Friday, as promised.")("Where is my order?", invocation_state=state)
    model = ScriptedModel("An answer.")
    Agent(model=model, plugins=[plugin], callback_handler=None)("Question?", invocation_state=state)
    return count_tokens(model.seen[0].text) - count_tokens("Question?")


async def _learn(shared: SharedMemory) -> None:
    memory = await shared.get()
    for number in range(FACTS):
        await memory.facts.learn(
            Scope("ana"), Statement(f"Ana has read book number {number} and liked chapter {number % 9}.")
        )


MEASURES = {"turn": measure_turn, "threads": measure_threads, "tokens": measure_tokens}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*MEASURES, []], help="what to measure; all of it by default")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    chosen = parser.parse_args()
    load_exact()
    measured: list[Figures] = []
    with tempfile.TemporaryDirectory() as folder:
        shared = SharedMemory(Settings(table=f"sqlite://{folder}/memory.db"))
        asyncio.run(_learn(shared))
        for name in chosen.names or MEASURES:
            measured.append(MEASURES[name](shared))
            print_figures(measured[-1])
        shared.close()
    if chosen.json:
        chosen.json.write_text(json.dumps([vars(figures) for figures in measured], indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
