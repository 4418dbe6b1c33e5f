"""A day of many users through a cluster: how often its item cache has what is asked for."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

from mcp_memory_server import Memory, Scope, Statement
from tests.bench.dax_stage import DaxStage, Ways, memory_through_dax
from tests.bench.figures import Cell, Figures, percentile

PROCESSES = 4
DAY = 24 * 3600.0
SESSIONS = (1, 2, 2, 3)
MESSAGES = (3, 5, 8, 12)
BETWEEN_MESSAGES = (3.4, 0.6)
"""Mean and spread of the logarithm of the seconds: half of them under 30, a tenth over 65."""
RECALLS = (0, 1, 1, 2)
A_SECOND = 1.0
LEARNS, PREFERS = 0.10, 0.03
"""How often a message teaches something. Writes of the session itself do not touch what is measured here."""
ACTIVE = 300.0
ENOUGH = 80.0


@dataclass(frozen=True)
class Event:
    """Something that a user's agent does at a second of the day, in any of the processes."""

    at: float
    user: int
    does: str


@dataclass(frozen=True)
class Day:
    """What came of it. ``table`` are the requests that were sent past the cluster. An active user's reads are those
    within five minutes of the one before."""

    calls: int
    reads: int
    hits: int
    active_reads: int
    active_hits: int
    cluster: int
    table: int
    misses_of_the_cluster: int

    @property
    def percent(self) -> float:
        return 100 * self.hits / self.reads

    @property
    def active_percent(self) -> float:
        return 100 * self.active_hits / self.active_reads


def events(users: int, seed: int = 7) -> list[Event]:
    """Return the day, in order: sessions of some messages, and for each a context, perhaps recalls, perhaps a write."""
    chance = random.Random(seed)
    return sorted(
        (event for user in range(users) for event in _of_user(user, chance)), key=lambda event: (event.at, event.user)
    )


def _of_user(user: int, chance: random.Random) -> Iterator[Event]:
    for _ in range(chance.choice(SESSIONS)):
        at = chance.uniform(0, DAY)
        for _ in range(chance.choice(MESSAGES)):
            yield Event(at, user, "context")
            for place in range(chance.choice(RECALLS)):
                yield Event(at + (place + 1) * A_SECOND, user, "recall")
            if chance.random() < LEARNS:
                yield Event(at + 4 * A_SECOND, user, "learn")
            if chance.random() < PREFERS:
                yield Event(at + 5 * A_SECOND, user, "prefer")
            at += max(6 * A_SECOND, chance.lognormvariate(*BETWEEN_MESSAGES))


async def live_through(stage: DaxStage, users: int) -> tuple[Day, Ways]:
    """Let the day pass, with the clock of the caches; each call is made by any of the processes."""
    ways, day, chance = Ways(), events(users), random.Random(1)
    before, at = stage.cluster.counts(), 0.0
    last: dict[int, float] = {}
    active: Counter[str] = Counter()
    async with AsyncExitStack() as opened:
        memories = [await opened.enter_async_context(memory_through_dax(stage, ways)) for _ in range(PROCESSES)]
        for number, event in enumerate(day):
            stage.cluster.advance(event.at - at)
            at = event.at
            counted = ways.cache.copy()
            await _do(chance.choice(memories), event, number)
            if event.at - last.get(event.user, -DAY) < ACTIVE:
                active += ways.cache - counted
            last[event.user] = event.at
    after = stage.cluster.counts()
    passed = sum(after.get(f"table.{name}", 0) - before.get(f"table.{name}", 0) for name in ("GetItem", "BatchGetItem"))
    return Day(
        len(day),
        ways.cache.total(),
        ways.cache["hit"],
        active.total(),
        active["hit"],
        ways.requests["cluster"],
        ways.requests["direct"],
        passed,
    ), ways


async def _do(memory: Memory, event: Event, number: int) -> None:
    scope = Scope(f"user {event.user}")
    match event.does:
        case "context":
            await memory.context.load(scope)
        case "recall":
            await memory.recall.search(scope, "What does the user like?")
        case "learn":
            await memory.facts.learn(scope, Statement(f"The user likes number {number}."))
        case _:
            await memory.preferences.set(scope, "tone", f"tone {number}")


def figures_of(days: Mapping[int, tuple[Day, Ways]], users: int) -> Figures:
    rows: list[Mapping[str, Cell]] = [
        {
            "item TTL": f"{seconds} s",
            "calls": day.calls,
            "eligible reads": day.reads,
            "from the item cache %": day.percent,
            "of active users %": day.active_percent,
            "requests to the cluster": day.cluster,
            "past it to DynamoDB": day.table,
            "by the cluster to DynamoDB": day.misses_of_the_cluster,
        }
        for seconds, (day, _) in days.items()
    ]
    _, ways = next(iter(days.values()))
    by_path = (
        f"{kind} {path}: {len(some):,}, p50 {percentile(some, 0.5):.2f} ms, p95 {percentile(some, 0.95):.2f} ms"
        for (kind, path), some in sorted(ways.seconds.items())
    )
    return Figures(f"A day of {users:,} users on {PROCESSES} processes and 2 nodes", rows, tuple(by_path))
