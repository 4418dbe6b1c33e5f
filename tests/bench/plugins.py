"""Measure breakers and the shared state, as ratios to a bare Redis round trip. README.md beside this file says more.

make bench-plugins                                     all of it, about a minute
python -m tests.bench.plugins check state              only these
python -m tests.bench.plugins --json figures.json      for programs as well
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from redis import Redis

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuit_rules import BreakerRules
from agent_plugins.breakers.redis_circuits import RedisCircuits
from agent_plugins.breakers.tool_registry import Refusal, ToolRegistry
from agent_plugins.state.changes import fill_slot, need_slots, take_turn
from agent_plugins.state.state_coordinator import StateCoordinator
from mcp_memory_server import Memory, Scope, Settings, open_memory
from tests.bench.figures import Cell, Figures, print_figures, verdict
from tests.engines.servers import redis_server
from tests.plugins.breakers.probers import probes_of_each_round

ROUNDS = 40
CHECKS = 2000
ROUND_TRIPS = 100
CHECK_BUDGET = 1 / 20
CHANGES = 300


def measure_checks(url: str) -> Figures:
    """Time checks and round trips in turns, so that whatever else the machine does falls on both alike."""
    client, circuits = Redis.from_url(url), RedisCircuits(url)
    closed, opened = CircuitBreaker("closed"), CircuitBreaker("open", BreakerRules(threshold=1, rest=3600))
    shared = CircuitBreaker("shared", BreakerRules(), shared=circuits)
    registry = ToolRegistry(shared=circuits)
    opened.ask().failed()
    work: Mapping[str, Callable[[], object]] = {
        "check, circuit closed": closed.ask,
        "check, circuit open": opened.ask,
        "check, circuit shared by workers": shared.ask,
        "check and report a success": lambda: closed.ask().succeeded(),
        "registry: begin a call, end it": lambda: _call(registry),
    }
    times: dict[str, list[float]] = {name: [] for name in work}
    trips: list[float] = []
    for _ in range(ROUNDS):
        trips.append(_microseconds(client.ping, ROUND_TRIPS))
        for name, call in work.items():
            times[name].append(_microseconds(call, CHECKS))
    circuits.close()
    client.close()
    floor = statistics.median(trips)
    rows: list[dict[str, Cell]] = [
        {"what": "bare Redis round trip", "µs": floor, "share of it": 1.0, "goal": "", "": ""}
    ]
    for name, each in times.items():
        took = statistics.median(each)
        is_check = name.startswith("check,")
        rows.append(
            {
                "what": name,
                "µs": took,
                "share of it": round(took / floor, 4),
                "goal": f"{CHECK_BUDGET:.2f}" if is_check else "",
                "": verdict(holds=took / floor <= CHECK_BUDGET) if is_check else "",
            }
        )
    return Figures("check: what a breaker costs a call", rows, [f"medians of {ROUNDS} rounds, in turns"])


def measure_probes(url: str) -> Figures:
    """Count the probes at the half-open instant."""
    began = time.perf_counter()
    probes = probes_of_each_round(url, processes=8, calls=13, rounds=300)
    row: dict[str, Cell] = {
        "processes": 8,
        "calls at once": 8 * 13,
        "rounds": len(probes),
        "most probes in a round": max(probes),
        "seconds": time.perf_counter() - began,
    }
    return Figures("probes: a hundred calls at the half-open instant, on one Redis", [row])


def measure_state(url: str) -> Figures:
    """Time changes and looks at the shared state, one at a time, with a usual number of slots."""
    return asyncio.run(_measure_state(url))


async def _measure_state(url: str) -> Figures:
    client = Redis.from_url(url)
    rows: list[dict[str, Cell]] = []
    for name, sessions in (("SQLite", None), ("Redis", url)):
        with tempfile.TemporaryDirectory() as folder:
            own = sessions or "none"
            async with open_memory(Settings(table=f"sqlite://{folder}/memory.db", sessions=own)) as memory:
                rows += await _state_rows(name, memory, client)
    client.close()
    return Figures(
        "state: what the agents of a session share", rows, ["medians, one at a time, 12 slots; a change is saved"]
    )


async def _state_rows(name: str, memory: Memory, client: Redis) -> list[dict[str, Cell]]:
    coordinator = StateCoordinator(memory, Scope("bench", "chat"))
    await coordinator.change(need_slots(*(f"slot {number}" for number in range(12))))
    trips, changes, looks, texts = list[float](), list[float](), list[float](), list[float]()
    for number in range(CHANGES):
        trips.append(_microseconds(client.ping, 1))
        started = time.perf_counter()
        await coordinator.change(take_turn(), fill_slot(f"slot {number % 12}", number))
        changed = time.perf_counter()
        await coordinator.refresh()
        looked = time.perf_counter()
        coordinator.to_agent_context(300)
        texts.append((time.perf_counter() - looked) * 1e6)
        looks.append((looked - changed) * 1e6)
        changes.append((changed - started) * 1e6)
    floor = statistics.median(trips)
    return [
        {"what": f"{what}, {name}", "µs": (took := statistics.median(each)), "round trips": round(took / floor, 2)}
        for what, each in (("change", changes), ("refresh", looks), ("to_agent_context", texts))
    ]


def _call(registry: ToolRegistry) -> None:
    call = registry.begin("tool")
    assert not isinstance(call, Refusal)
    call.succeeded()


def _microseconds(call: Callable[[], object], times: int) -> float:
    started = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - started) / times * 1e6


MEASUREMENTS: Mapping[str, Callable[[str], Figures]] = {
    "check": measure_checks,
    "probes": measure_probes,
    "state": measure_state,
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("only", nargs="*", metavar="WHAT", help=f"some of {', '.join(MEASUREMENTS)} (default: all)")
    options.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")
    chosen = options.parse_args()
    if unknown := set(chosen.only) - set(MEASUREMENTS):
        options.error(f"{sorted(unknown)[0]!r} is not one of {', '.join(MEASUREMENTS)}")
    figures: dict[str, Figures] = {}
    for name in chosen.only or MEASUREMENTS:
        with tempfile.TemporaryDirectory() as folder, redis_server(Path(folder)) as redis:
            figures[name] = MEASUREMENTS[name](redis.url)
        print_figures(figures[name])
    if chosen.json is not None:
        chosen.json.write_text(json.dumps({name: vars(one) for name, one in figures.items()}, indent=2) + "\n")


if __name__ == "__main__":
    main()
