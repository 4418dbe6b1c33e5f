"""A memory whose sessions are finalized when a test says so, on files and on a clock that the test moves."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

from mcp_memory_server import Memory, NewTurn, Role, Scope
from mcp_memory_server.adapters.redis.sessions import open_redis
from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.domain.kernel.items import Item
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.schema import keys
from mcp_memory_server.wiring import SessionBackends, running
from mcp_memory_server.wiring.summaries import FinalizerOptions
from tests.clock import FakeClock

PATIENCE = timedelta(seconds=30)
LONG_ENOUGH = timedelta(hours=3)
"""After which every session that nobody talks in is over."""


@asynccontextmanager
async def finalizing_memory(
    path: Path,
    clock: FakeClock,
    *,
    options: FinalizerOptions | None = None,
    runs: bool = False,
    redis: str | None = None,
    metrics: Metrics | None = None,
    wrap: Callable[[ItemTable], ItemTable] = lambda table: table,
) -> AsyncGenerator[Memory]:
    """Open the memory as one process does.

    Sessions are cached in ``redis`` if that is given. Unless it ``runs``, nothing happens in the background: a test
    calls `memory.finalizer`.
    """
    table = await SqliteItemTable.open(path, now=clock)
    beside = SessionBackends()
    if redis is not None:
        namespace = sha256(str(path).encode()).hexdigest()  # the same for every process over one table
        sessions = open_redis(redis, namespace=namespace, deadline=PATIENCE, settling=timedelta(0))
        beside = SessionBackends(sessions.cache, sessions.channel, sessions.deadlines)
    chosen = FinalizerOptions(None if options is None else options.model, runs=runs)
    async with running(
        wrap(table), beside, now=clock, monotonic=lambda: clock().timestamp(), metrics=metrics, finalizer=lambda: chosen
    ) as memory:
        yield memory
    await beside.close()
    await table.close()


async def talk(memory: Memory, scope: Scope, *said: str, clock: FakeClock | None = None) -> None:
    """Let the user and the assistant speak by turns; what begins with ``tool:`` a tool says."""
    roles = [Role.USER, Role.ASSISTANT]
    for number, text in enumerate(said):
        role = Role.TOOL if text.startswith("tool:") else roles[number % 2]
        await memory.conversations.append(scope, NewTurn(role, text))
        if clock is not None:
            clock.advance(timedelta(seconds=20))


async def summaries_stored(memory: Memory, scope: Scope) -> Sequence[Item]:
    page = await memory.table.query(keys.user_partition(scope.user_id), prefix=keys.SUMMARIES, limit=None)
    return page.items
