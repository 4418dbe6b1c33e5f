"""A Redis that hangs: how long callers wait meanwhile, and whether a turn is lost."""

import asyncio
import time
from collections.abc import Mapping, Sequence

from mcp_memory_server import NewTurn, Role, open_memory
from mcp_memory_server.memory import Memory
from tests.bench.arrivals import exchange, lost, scope_of, stream
from tests.bench.figures import Cell, Figures, percentile, verdict
from tests.bench.floors import measure_floors
from tests.bench.stage import Stage

SESSIONS = 40
RATE = 20
BEFORE, HUNG, AFTER = 5, 10, 10
GOAL = 500.0


async def measure_hung_redis(stage: Stage) -> Figures:
    settings = await stage.fresh()
    async with open_memory(settings) as memory:
        await _begin(memory)
        (froze, thawed), floors, came = await asyncio.gather(
            _hang(stage),
            measure_floors(settings, BEFORE + HUNG + AFTER, without_redis=True),
            stream(
                RATE,
                BEFORE + HUNG + AFTER,
                lambda number, due: exchange(memory, number % SESSIONS, f"Message {number}: is it raining?", due),
            ),
        )
    phases = {
        "before": [one for one in came.exchanges if one.due < froze],
        "hung": [one for one in came.exchanges if froze <= one.due < thawed],
        "after": [one for one in came.exchanges if one.due >= thawed],
    }
    missing = await lost(settings, came.exchanges)
    return Figures(
        f"Redis hangs for {HUNG} s under {RATE} messages a second: milliseconds, goal p99 {GOAL:,.0f} ms",
        [
            _row("bare DynamoDB query", floors.query),
            *(_row(f"load, {phase}", [one.load for one in some]) for phase, some in phases.items()),
            *(_row(f"append, {phase}", [one.append for one in some]) for phase, some in phases.items()),
        ],
        (f"{came.outcome}; {missing:,} turns lost", came.punctuality),
    )


async def _hang(stage: Stage) -> tuple[float, float]:
    await asyncio.sleep(BEFORE)
    stage.redis.freeze()
    froze = time.perf_counter()
    try:
        await asyncio.sleep(HUNG)
    finally:
        stage.redis.thaw()
    return froze, time.perf_counter()


async def _begin(memory: Memory) -> None:
    for session in range(SESSIONS):
        await memory.conversations.append(scope_of(session), NewTurn(Role.USER, "Good morning"))


def _row(what: str, seconds: Sequence[float]) -> Mapping[str, Cell]:
    p99 = percentile(seconds, 0.99)
    return {
        "what": what,
        "calls": len(seconds),
        "p50": percentile(seconds, 0.5),
        "p99": p99,
        "max": percentile(seconds, 1.0),
        "goal": verdict(holds=p99 <= GOAL),
    }
