"""A thousand sessions at once on one process: how long a load and an append take, and whether a turn is lost."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

from mcp_memory_server import NewTurn, Role, open_memory
from mcp_memory_server.memory import Memory
from mcp_memory_server.ports.metric_catalogue import SESSION_CACHE_READS, Metric
from tests.bench.arrivals import Exchange, Stream, exchange, lost, scope_of, stream
from tests.bench.figures import Cell, Figures, percentile
from tests.bench.floors import Floors, measure_floors
from tests.bench.stage import Stage

SESSIONS = 1000
RATE = 50
SECONDS = 60
PREPARED_AT_ONCE = 8
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


class CopyReads:
    """Counts how often a load was answered by the copy of its session."""

    def __init__(self) -> None:
        self.results: Counter[str] = Counter()

    def record(self, metric: Metric, value: float, **labels: str) -> None:  # noqa: ARG002
        if metric is SESSION_CACHE_READS:
            self.results[labels["result"]] += 1


async def measure_many_sessions(stage: Stage, *, seconds: float = SECONDS) -> Figures:
    settings = await stage.fresh()
    reads = CopyReads()
    async with open_memory(settings, metrics=reads) as memory:
        await _prepare(memory)
        reads.results.clear()
        came, floors = await asyncio.gather(
            stream(RATE, seconds, lambda number, due: _message(memory, number, due)), measure_floors(settings, seconds)
        )
    return _figures(came, floors, reads, await lost(settings, came.exchanges))


async def _message(memory: Memory, number: int, due: float) -> Exchange:
    return await exchange(memory, number % SESSIONS, f"Message {number}: where is my order?", due)


async def _prepare(memory: Memory) -> None:
    """Begin every session, and read it once it has settled, so that its copy is at hand."""
    limit = asyncio.Semaphore(PREPARED_AT_ONCE)

    async def begin(session: int) -> None:
        async with limit:
            await memory.conversations.append(scope_of(session), NewTurn(Role.USER, "Good morning, I have a question."))

    async def read(session: int) -> None:
        async with limit:
            await memory.conversations.load(scope_of(session))

    # Beginning all of them takes longer than one of them needs to settle; the last ones are read last, too.
    await asyncio.gather(*(begin(session) for session in range(SESSIONS)))
    await asyncio.gather(*(read(session) for session in range(SESSIONS)))


def _figures(came: Stream, floors: Floors, reads: CopyReads, missing: int) -> Figures:
    rows = [
        _row("bare Redis round trip", floors.redis, floors),
        _row("bare DynamoDB query", floors.query, floors),
        _row("load", [one.load for one in came.exchanges], floors),
        _row("append", [one.append for one in came.exchanges], floors),
    ]
    return Figures(
        f"{SESSIONS:,} sessions, {RATE} messages a second, one process: milliseconds, and multiples of the floors' own",
        rows,
        (
            f"{came.outcome}; {missing:,} turns lost",
            f"{reads.results['hit']:,} loads from the copy in Redis, {reads.results['miss']:,} from the table",
            came.punctuality,
        ),
    )


def _row(what: str, seconds: Sequence[float], floors: Floors) -> Mapping[str, Cell]:
    row: dict[str, Cell] = {"what": what}
    row |= {name: percentile(seconds, share) for name, share in SHARES.items()}
    for floor, taken in (("redis", floors.redis), ("query", floors.query)):
        row |= {
            f"{name}/{floor}": percentile(seconds, share) / percentile(taken, share) for name, share in SHARES.items()
        }
    return row
