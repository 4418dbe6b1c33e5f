"""Wiring: the only package that names an adapter."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from mcp_memory_server.memory import Memory
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metrics import Metrics, NoMetrics
from mcp_memory_server.services.archive import Archive
from mcp_memory_server.services.context import Context
from mcp_memory_server.services.erasure import Elsewhere, Erasure
from mcp_memory_server.services.facts import Facts
from mcp_memory_server.services.handoffs import HandOffs
from mcp_memory_server.services.known_memories import KnownMemories
from mcp_memory_server.services.notes import Notes
from mcp_memory_server.services.preferences import Preferences
from mcp_memory_server.services.recall import Recall
from mcp_memory_server.services.summaries import Summaries
from mcp_memory_server.settings import Settings, read_settings
from mcp_memory_server.wiring.beside import BesideTheTable, is_embedded, open_beside, outbox_file, sessions_file
from mcp_memory_server.wiring.metrics import measured_sessions, measured_table
from mcp_memory_server.wiring.tables import create_table, delete_table, describe_table, open_table

if TYPE_CHECKING:
    from mcp_memory_server.wiring.sessions import RunningSessions
    from mcp_memory_server.wiring.summaries import Care

__all__ = [
    "BesideTheTable",
    "assemble",
    "count_tokens",
    "create_table",
    "delete_table",
    "describe_table",
    "open_memory",
    "open_table",
    "running",
    "utc_now",
]


def utc_now() -> datetime:
    """Return the time of day. Only wiring reads the clock; everything else is told."""
    return datetime.now(UTC)


@asynccontextmanager
async def open_memory(
    settings: Settings | None = None,
    *,
    now: Callable[[], datetime] = utc_now,
    metrics: Metrics | None = None,
    looks_after_sessions: bool = False,
) -> AsyncGenerator[Memory]:
    """Open the memory that the settings name, by default those of the environment, and close it at the end.

    A process that adds turns also sums up sessions that are over, in the background; one that is to do so in any case,
    as a server is, says so.

    Raises:
        ConfigurationError: A setting is wrong, or the package for the chosen table is not installed.
        TableDamagedError: The file is damaged or another program's. It was left untouched.
    """
    settings = settings or read_settings()
    table = await open_table(settings, now=now)
    opened: list[BesideTheTable] = []

    def beside() -> BesideTheTable:
        opened.append(open_beside(settings, now))
        return opened[-1] if metrics is None else measured_sessions(settings, opened[-1], metrics)

    try:
        items = table if metrics is None else measured_table(settings, table, metrics)
        at_once = not is_embedded(settings) or outbox_file(settings).exists()
        looks_after = looks_after_sessions and (at_once or sessions_file(settings).exists())
        care = partial(_chosen_care, settings)
        async with _running(
            items, beside, care, now=now, metrics=metrics, at_once=at_once, looks_after=looks_after
        ) as memory:
            yield memory
    finally:
        for stores in opened:
            await stores.close()
        await table.close()


@asynccontextmanager
async def running(
    table: ItemTable,
    beside: BesideTheTable,
    *,
    now: Callable[[], datetime] = utc_now,
    monotonic: Callable[[], float] = time.monotonic,
    metrics: Metrics | None = None,
    care: "Callable[[], Care] | None" = None,
) -> AsyncGenerator[Memory]:
    """Run the services over stores that are open already. At the end they finish their work; the stores stay open.

    Sessions are looked after in the background only if it is said how.
    """
    async with _running(
        table, lambda: beside, care or _no_care, now=now, monotonic=monotonic, metrics=metrics
    ) as memory:
        yield memory


def assemble(
    table: ItemTable, *, now: Callable[[], datetime] = utc_now, beside: BesideTheTable | None = None
) -> Memory:
    """Return the services over a table that is open already."""
    known = KnownMemories(table)
    facts = Facts(table, known, now)
    sessions = _Sessions(table, lambda: beside or BesideTheTable(), facts, _no_care, now, time.monotonic, None)
    return _assembled(table, known, facts, sessions, now)


class _Sessions:
    """The services of conversations, made when they are first asked for. Used from any thread."""

    def __init__(
        self,
        table: ItemTable,
        beside: Callable[[], BesideTheTable],
        facts: Facts,
        care: "Callable[[], Care]",
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
        metrics: Metrics | None,
    ) -> None:
        self._parts = table, beside, facts, care, now, monotonic, metrics or NoMetrics()
        self._lock = Lock()
        self.made: RunningSessions | None = None

    def __call__(self) -> "RunningSessions":
        with self._lock:
            if self.made is None:
                # Imported here: a client that never talks about sessions should not wait for it.
                from mcp_memory_server.wiring.sessions import run_sessions

                table, beside, facts, care, now, monotonic, metrics = self._parts
                self.made = run_sessions(table, beside(), facts, care(), metrics, now, monotonic)
            return self.made


@asynccontextmanager
async def _running(
    table: ItemTable,
    beside: Callable[[], BesideTheTable],
    care: "Callable[[], Care]",
    *,
    now: Callable[[], datetime],
    monotonic: Callable[[], float] = time.monotonic,
    metrics: Metrics | None,
    at_once: bool = False,
    looks_after: bool = False,
) -> AsyncGenerator[Memory]:
    known = KnownMemories(table)
    facts = Facts(table, known, now)
    sessions = _Sessions(table, beside, facts, care, now, monotonic, metrics)
    if at_once:  # turns may be waiting, or a setting be wrong
        sessions().delivery.wake()
    if looks_after:  # sessions may be over that nobody has summed up
        sessions().looked_after.caretaker.wake()
    try:
        yield _assembled(table, known, facts, sessions, now)
    finally:
        if sessions.made is not None:
            await sessions.made.close()


def _chosen_care(settings: Settings) -> "Care":
    from mcp_memory_server.wiring.summaries import chosen_care

    return chosen_care(settings)


def _no_care() -> "Care":
    from mcp_memory_server.wiring.summaries import Care

    return Care()


def _assembled(
    table: ItemTable, known: KnownMemories, facts: Facts, sessions: _Sessions, now: Callable[[], datetime]
) -> Memory:
    summaries = Summaries(table, now)

    def elsewhere() -> Elsewhere:
        beside = sessions().beside
        return Elsewhere(beside.states, [queue for queue in (beside.outbox, beside.dead_letters) if queue is not None])

    return Memory(
        facts=facts,
        preferences=Preferences(table, now),
        notes=Notes(table, now),
        recall=Recall(known, count_tokens, now),
        context=Context(
            known,
            lambda scope: sessions().at_hand.load(scope),
            HandOffs(summaries, known),
            count_tokens,
            now,
        ),
        summaries=summaries,
        erasure=Erasure(table, known, elsewhere, now),
        archive=Archive(table, now),
        table=table,
        sessions=lambda: sessions().services,
    )
