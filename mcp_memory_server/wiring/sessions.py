"""Composing what only conversations need. It is imported when it is first used: most processes never use it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from mcp_memory_server.memory import SessionServices
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.services.conversations.chats import Chats
from mcp_memory_server.services.conversations.conversations import Conversations
from mcp_memory_server.services.conversations.redrive import Redrive
from mcp_memory_server.services.conversations.tool_log import ToolLog
from mcp_memory_server.services.facts.facts import Facts
from mcp_memory_server.services.sessions.cache_epoch import CacheEpoch
from mcp_memory_server.services.sessions.outbox_worker import OutboxWorker
from mcp_memory_server.services.sessions.session_reader import SessionReader
from mcp_memory_server.services.sessions.session_stores import SessionStores
from mcp_memory_server.services.sessions.shared_states import SharedStates
from mcp_memory_server.services.sessions.snapshots import Snapshots
from mcp_memory_server.services.sessions.stored_turns import StoredTurns, TableTimeout
from mcp_memory_server.services.sessions.table_states import TableStates
from mcp_memory_server.services.sessions.turn_appender import TurnAppender
from mcp_memory_server.services.summaries.resumption import Resumption
from mcp_memory_server.wiring.searching import Searching
from mcp_memory_server.wiring.session_backends import SessionBackends
from mcp_memory_server.wiring.summaries import FinalizerOptions, RunningFinalizer, compose_finalizer


@dataclass(frozen=True)
class RunningSessions:
    """The services of conversations, and what works for them in the background."""

    services: SessionServices
    stores: SessionStores
    reader: SessionReader
    beside: SessionBackends
    outbox_worker: OutboxWorker
    finalizer: RunningFinalizer

    async def close(self) -> None:
        """Finish what is in progress, as far as time allows."""
        await self.finalizer.close()
        await self.services.tool_log.close()
        await self.outbox_worker.close()


def run_sessions(
    table: ItemTable,
    beside: SessionBackends,
    facts: Facts,
    options: FinalizerOptions,
    searching: Searching,
    metrics: Metrics,
    now: Callable[[], datetime],
    monotonic: Callable[[], float] = time.monotonic,
) -> RunningSessions:
    """Compose the services from stores that are open already."""
    own, embeddings = searching.own, searching.embeddings
    process = own.writer
    epoch = CacheEpoch(
        table,
        now,
        process=process,
        monotonic=monotonic,
        wake=lambda: outbox_worker.wake(),
        ping=None if beside.cache is None else beside.cache.ping,
    )
    stored = StoredTurns(
        table,
        now,
        local_writes=own,
        monotonic=monotonic,
        metrics=metrics,
        wake=lambda: outbox_worker.wake(),
        embeddings=embeddings,
    )
    timeout = TableTimeout(has_outbox=beside.outbox is not None, monotonic=monotonic)
    stores = SessionStores(
        stored,
        beside.cache,
        beside.deadlines,
        TableStates(table, now, poll=beside.state_poll, channel=beside.channel),
        epoch,
        beside.outbox,
        timeout,
        metrics,
        now,
        outbox_is_in_cache=beside.outbox_is_in_cache,
    )
    reader = SessionReader(stores)
    finalizer = compose_finalizer(table, stores, reader, facts, options, owner=process, monotonic=monotonic)
    outbox_worker = OutboxWorker(stores, beside.dead_letters, owner=process)
    appender = TurnAppender(
        stores, outbox_worker, finalizer.worker, acknowledge=beside.acknowledge, monotonic=monotonic
    )
    services = SessionServices(
        conversations=Conversations(stores, reader, appender, count_tokens, observer=finalizer.worker),
        chats=Chats(table, now),
        states=SharedStates(stores.states),
        tool_log=ToolLog(table, now),
        snapshots=Snapshots(table, now),
        redrive=Redrive(stores, beside.dead_letters),
        finalizer=finalizer.finalizer,
        resumption=Resumption(reader, finalizer.rolling, searching.known),
        spending=finalizer.spending,
        cache=stores.cache,
    )
    return RunningSessions(services, stores, reader, beside, outbox_worker, finalizer)
