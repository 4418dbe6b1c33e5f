"""Messages that come when they are due, whether or not the ones before are answered."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from mcp_memory_server import NewTurn, Role, Scope, Settings, open_memory
from mcp_memory_server.errors import UnavailableError
from mcp_memory_server.memory import Memory
from tests.bench.stage import USER

CHECKED_AT_ONCE = 16
MOST_TURNS = 500


@dataclass(frozen=True)
class Exchange:
    """One message: a load, timed from when it was due, then an append; ``turn_id`` is None if it was refused."""

    session: int
    due: float
    load: float
    append: float
    loaded: bool
    turn_id: str | None
    pending: bool


@dataclass(frozen=True)
class Stream:
    """What a stream of messages came to. A machine that does not keep up begins late, and has work left at the end."""

    exchanges: Sequence[Exchange]
    latest_start: float
    overtime: float
    cpu: float

    @property
    def outcome(self) -> str:
        acknowledged = [one for one in self.exchanges if one.turn_id is not None]
        pending, not_loaded = sum(one.pending for one in acknowledged), sum(not one.loaded for one in self.exchanges)
        return (
            f"{len(self.exchanges):,} messages: {len(acknowledged):,} acknowledged, {pending:,} of them through the "
            f"outbox; {not_loaded:,} loads refused"
        )

    @property
    def punctuality(self) -> str:
        each = self.cpu / len(self.exchanges) * 1000
        return (
            f"latest start {self.latest_start * 1000:,.0f} ms after it was due, {self.overtime:.2f} s left at the end; "
            f"{each:.1f} ms of CPU a message"
        )


def scope_of(session: int) -> Scope:
    return Scope(USER, f"session-{session}")


async def stream(rate: float, seconds: float, answer: Callable[[int, float], Awaitable[Exchange]]) -> Stream:
    """Begin so many messages a second, each when it is due, and wait until all of them are answered."""
    begun, latest, running = time.perf_counter(), 0.0, list[asyncio.Future[Exchange]]()
    cpu = time.process_time()
    for number in range(round(rate * seconds)):
        due = begun + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        latest = max(latest, time.perf_counter() - due)
        running.append(asyncio.ensure_future(answer(number, due)))
    exchanges = await asyncio.gather(*running)
    overtime = max(0.0, time.perf_counter() - begun - seconds)
    return Stream(exchanges, latest, overtime, time.process_time() - cpu)


async def exchange(memory: Memory, session: int, text: str, due: float) -> Exchange:
    """Load a session, append to it, and tell how long each of them took, refused or not."""
    scope, loaded, appended = scope_of(session), None, None
    with suppress(UnavailableError):
        loaded = await memory.conversations.load(scope)
    between = time.perf_counter()
    with suppress(UnavailableError):
        appended = await memory.conversations.append(scope, NewTurn(Role.USER, text))
    return Exchange(
        session,
        due,
        load=between - due,
        append=time.perf_counter() - between,
        loaded=loaded is not None,
        turn_id=appended and appended.turn.id,
        pending=appended is not None and appended.pending,
    )


async def lost(settings: Settings, exchanges: Collection[Exchange]) -> int:
    """Return how many acknowledged turns the table does not hold, as a process sees it that has no Redis."""
    wanted: dict[int, set[str | None]] = {}
    for one in exchanges:
        if one.turn_id is not None:
            wanted.setdefault(one.session, set()).add(one.turn_id)
    limit = asyncio.Semaphore(CHECKED_AT_ONCE)

    async def missing(memory: Memory, session: int) -> int:
        async with limit:
            loaded = await memory.conversations.load(scope_of(session), turns=MOST_TURNS)
        return len(wanted[session] - {turn.id for turn in loaded.turns})

    async with open_memory(settings.model_copy(update={"sessions": "none", "outbox": "none"})) as memory:
        return sum(await asyncio.gather(*(missing(memory, session) for session in wanted)))
