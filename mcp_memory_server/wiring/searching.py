"""Putting together what recall needs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from mcp_memory_server.concurrency.event_loop_thread import EventLoopThread
from mcp_memory_server.ports.embedder import Embedder
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.ports.vector_index import VectorIndex
from mcp_memory_server.services.conversations.past_turns import PastTurns
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache
from mcp_memory_server.services.recall.access_counts import AccessCounts
from mcp_memory_server.services.recall.index_registry import IndexRegistry
from mcp_memory_server.services.recall.nearby_turns import NearbyTurns
from mcp_memory_server.services.recall.reembedding import Reembedding
from mcp_memory_server.services.sessions.local_writes import LocalWrites
from mcp_memory_server.wiring.embeddings import new_search_index


@dataclass(frozen=True)
class Searching:
    """What is searched, by which model, and what works for it in the background."""

    embeddings: Embeddings
    own: LocalWrites
    known: UserMemoryCache
    turns: PastTurns
    searchable: IndexRegistry
    nearby: NearbyTurns
    access: AccessCounts
    reembedding: Reembedding
    background: EventLoopThread

    async def close(self) -> None:
        """Finish what is under way, as far as that goes in time. The model stays open."""
        await self.background.close(self.access.write)


def searching_over(
    table: ItemTable,
    embedder: Embedder | None,
    fine: Embedder | None,
    now: Callable[[], datetime],
    vectors: VectorIndex | None = None,
    metrics: Metrics | None = None,
    *,
    near: ItemTable | None = None,
    lists_late: bool = True,
) -> Searching:
    """Put it together over a table, a model and a vector index that are open already.

    ``near`` is the same table for reads that may come from a cache.
    """
    embeddings, background = (
        Embeddings(embedder, fine, enter_turns=vectors is not None),
        EventLoopThread("memory-background"),
    )
    turns = PastTurns(table, embeddings.model)
    reembedding = Reembedding(table, embeddings, background)
    own = LocalWrites()
    searchable = IndexRegistry(new_search_index, turns, reembedding, background, own, now, lists_late=lists_late)
    return Searching(
        embeddings,
        own,
        UserMemoryCache(table, embeddings.models, near=near),
        turns,
        searchable,
        NearbyTurns(searchable, turns, vectors, embeddings.model, metrics),
        AccessCounts(table, background, now),
        reembedding,
        background,
    )
