"""Wiring: the only package that names an adapter."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from mcp_memory_server.addresses import SqliteTable, parse_table
from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.errors import MemoryServerError
from mcp_memory_server.memory import Memory
from mcp_memory_server.ports.embedder import Embedder
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metrics import Metrics, NoMetrics
from mcp_memory_server.ports.vector_index import VectorIndex
from mcp_memory_server.services.context.context import Context
from mcp_memory_server.services.facts.facts import Facts
from mcp_memory_server.services.facts.notes import Notes
from mcp_memory_server.services.facts.preferences import Preferences
from mcp_memory_server.services.recall.recall import Recall
from mcp_memory_server.services.summaries.handoffs import HandOffs
from mcp_memory_server.services.summaries.summaries import Summaries
from mcp_memory_server.services.users.archive import Archive
from mcp_memory_server.services.users.erasure import Erasure, OtherStores
from mcp_memory_server.services.users.imports import Imports
from mcp_memory_server.settings import Settings, read_settings
from mcp_memory_server.wiring.embeddings import built_in_embedder, open_embedders
from mcp_memory_server.wiring.metrics import measured_sessions, measured_table
from mcp_memory_server.wiring.searching import Searching, searching_over
from mcp_memory_server.wiring.session_backends import (
    SessionBackends,
    is_embedded,
    local_folder,
    open_backends,
    outbox_file,
)
from mcp_memory_server.wiring.tables import (
    cached_reads,
    check_cluster,
    create_table,
    delete_table,
    describe_table,
    open_table,
    vector_index_misfit,
)
from mcp_memory_server.wiring.vector_index import open_vector_index

if TYPE_CHECKING:
    from mcp_memory_server.wiring.sessions import RunningSessions
    from mcp_memory_server.wiring.summaries import FinalizerOptions

__all__ = [
    "SessionBackends",
    "check_cluster",
    "count_tokens",
    "create_table",
    "delete_table",
    "describe_table",
    "local_folder",
    "open_memory",
    "open_table",
    "running",
    "vector_index_misfit",
]


NO_BACKENDS = SessionBackends()


@asynccontextmanager
async def open_memory(
    settings: Settings | None = None,
    *,
    now: Callable[[], datetime] = utc_now,
    metrics: Metrics | None = None,
    finalize_sessions: bool = False,
) -> AsyncGenerator[Memory]:
    """Open the memory that the settings name, by default those of the environment, and close it at the end.

    A process that adds turns also summarizes sessions that are over, in the background. With ``finalize_sessions`` it
    does so from the start, as a server should.

    Raises:
        ConfigurationError: A setting is wrong, or the package for the chosen table is not installed.
        TableDamagedError: The file is damaged or another program's. It was left untouched.
    """
    settings = settings or read_settings()
    embedder, fine = await open_embedders(settings)
    vectors = open_vector_index(settings, embedder, metrics)
    table = await open_table(settings, now=now, metrics=metrics)
    opened: list[SessionBackends] = []

    def beside() -> SessionBackends:
        opened.append(open_backends(settings, now))
        return opened[-1] if metrics is None else measured_sessions(opened[-1], metrics)

    try:
        items, near = table, cached_reads(settings, table)
        if settings.audit != "none":
            # Imported here: few ask for it.
            from mcp_memory_server.services.kernel.audited_table import AuditedItemTable
            from mcp_memory_server.wiring.audit import open_audit

            items, near = AuditedItemTable(items, open_audit(settings.audit), now), near
        if metrics is not None:
            items, near = (measured_table(settings, one, metrics) for one in (items, near))
        at_once = not is_embedded(settings) or outbox_file(settings).exists()
        finalizes = finalize_sessions and (at_once or await _has_open_sessions(table, now()))
        running = _running(
            items,
            beside,
            partial(_finalizer_options, settings),
            embedder,
            fine,
            vectors,
            near=near,
            now=now,
            metrics=metrics,
            at_once=at_once,
            finalizes=finalizes,
            lists_late=not isinstance(parse_table(settings.table), SqliteTable),
        )
        async with running as memory:
            yield memory
    finally:
        for stores in opened:
            await stores.close()
        await table.close()
        if vectors is not None:
            await vectors.close()
        for model in (embedder, fine):
            if model is not None:
                await model.close()


@asynccontextmanager
async def running(
    table: ItemTable,
    beside: SessionBackends = NO_BACKENDS,
    *,
    now: Callable[[], datetime] = utc_now,
    monotonic: Callable[[], float] = time.monotonic,
    metrics: Metrics | None = None,
    embedder: Embedder | None = None,
    fine: Embedder | None = None,
    near: ItemTable | None = None,
    finalizer: "Callable[[], FinalizerOptions] | None" = None,
) -> AsyncGenerator[Memory]:
    """Run the services over stores that are open already. At the end they finish their work; the stores stay open.

    ``near`` is the same table for reads that may come from a cache. Without options for the ``finalizer`` nothing is
    summarized in the background.
    """
    services = _running(
        table,
        lambda: beside,
        finalizer or _no_finalizer,
        embedder or built_in_embedder(),
        fine,
        near=near or table,
        now=now,
        monotonic=monotonic,
        metrics=metrics,
    )
    async with services as memory:
        yield memory


class _Sessions:
    """The services of conversations, made when they are first asked for. Used from any thread."""

    def __init__(
        self,
        table: ItemTable,
        beside: Callable[[], SessionBackends],
        facts: Facts,
        options: "Callable[[], FinalizerOptions]",
        searching: Searching,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
        metrics: Metrics | None,
    ) -> None:
        self._parts = table, beside, facts, options, searching, metrics or NoMetrics(), now, monotonic
        self._lock = Lock()
        self.made: RunningSessions | None = None

    def __call__(self) -> "RunningSessions":
        with self._lock:
            if self.made is None:
                # Imported here: a client that never uses sessions should not wait for it.
                from mcp_memory_server.wiring.sessions import run_sessions

                table, beside, facts, options, searching, metrics, now, monotonic = self._parts
                self.made = run_sessions(table, beside(), facts, options(), searching, metrics, now, monotonic)
            return self.made


@asynccontextmanager
async def _running(
    table: ItemTable,
    beside: Callable[[], SessionBackends],
    options: "Callable[[], FinalizerOptions]",
    embedder: Embedder | None,
    fine: Embedder | None = None,
    vectors: VectorIndex | None = None,
    *,
    near: ItemTable,
    now: Callable[[], datetime],
    monotonic: Callable[[], float] = time.monotonic,
    metrics: Metrics | None,
    at_once: bool = False,
    finalizes: bool = False,
    lists_late: bool = True,
) -> AsyncGenerator[Memory]:
    searching = searching_over(table, embedder, fine, now, vectors, metrics, near=near, lists_late=lists_late)
    facts = Facts(table, searching.known, searching.embeddings, now)
    sessions = _Sessions(table, beside, facts, options, searching, now, monotonic, metrics)
    if at_once:  # turns may be waiting, or a setting be wrong
        sessions().outbox_worker.wake()
    if finalizes:  # sessions may have ended while no process was running
        sessions().finalizer.worker.wake()
    try:
        yield _assembled(table, facts, sessions, searching, now)
    finally:
        if sessions.made is not None:
            await sessions.made.close()
        await searching.close()


async def _has_open_sessions(table: ItemTable, now: datetime) -> bool:
    """Return whether a session is or becomes due. A server that never had one does not start what finishes them."""
    from mcp_memory_server.schema.ending_records import endings_index
    from mcp_memory_server.services.summaries.session_leases import LONGEST_LIFE, LOOKED_BACK

    day, last = (now - LOOKED_BACK).astimezone(UTC).date(), (now + LONGEST_LIFE).astimezone(UTC).date()
    while day <= last:
        try:
            page = await table.find(endings_index(day), limit=1)
        except MemoryServerError:
            return True  # it is asked again in the background
        if page.keys:
            return True
        day += timedelta(days=1)
    return False


def _finalizer_options(settings: Settings) -> "FinalizerOptions":
    from mcp_memory_server.wiring.summaries import finalizer_options

    return finalizer_options(settings)


def _no_finalizer() -> "FinalizerOptions":
    from mcp_memory_server.wiring.summaries import FinalizerOptions

    return FinalizerOptions()


def _assembled(
    table: ItemTable, facts: Facts, sessions: _Sessions, searching: Searching, now: Callable[[], datetime]
) -> Memory:
    known, embeddings, indexes = searching.known, searching.embeddings, searching.indexes
    summaries = Summaries(table, now)

    def elsewhere() -> OtherStores:
        running = sessions()
        beside = running.beside
        queues = [queue for queue in (beside.outbox, beside.dead_letters) if queue is not None]
        return OtherStores(beside.cache, running.stores.states, queues, beside.unreachable)

    archive = Archive(table, embeddings, now, lambda: sessions().beside.cache)
    return Memory(
        facts=facts,
        preferences=Preferences(table, embeddings, now),
        notes=Notes(table, embeddings, now),
        recall=Recall(
            known, indexes, searching.nearby, searching.turns, embeddings, searching.access, count_tokens, now
        ),
        context=Context(
            known,
            indexes,
            embeddings,
            lambda scope: sessions().reader.load(scope),
            HandOffs(summaries),
            count_tokens,
            now,
        ),
        summaries=summaries,
        erasure=Erasure(table, known, indexes, embeddings, elsewhere, now),
        archive=archive,
        imports=Imports(archive, known, now),
        table=table,
        sessions=lambda: sessions().services,
    )
