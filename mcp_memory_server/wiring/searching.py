"""Assembles the parts of recall."""

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
from mcp_memory_server.services.sessions.session_activity import LocalWrites
from mcp_memory_server.wiring.embeddings import built_in_word_vectors, new_search_index

BACKGROUND_THREAD = "memory-background"


@dataclass(frozen=True)
class Searching:
    """The caches, indexes and models of recall, and its background worker."""

    embeddings: Embeddings
    own: LocalWrites
    known: UserMemoryCache
    turns: PastTurns
    indexes: IndexRegistry
    nearby: NearbyTurns
    access: AccessCounts
    reembedding: Reembedding
    background: EventLoopThread

    async def close(self) -> None:
        """Finish background work within its deadline. The models stay open."""
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
    """Assemble recall over an open table, models and vector index.

    ``near`` is the same table, for reads that a cache may answer.
    """
    embeddings = Embeddings(embedder, fine, known_words=built_in_word_vectors(fine), enter_turns=vectors is not None)
    background = EventLoopThread(BACKGROUND_THREAD)
    turns = PastTurns(table, embeddings.model)
    reembedding = Reembedding(table, embeddings, background)
    own = LocalWrites()
    indexes = IndexRegistry(new_search_index, turns, reembedding, background, own, now, lists_late=lists_late)
    return Searching(
        embeddings,
        own,
        UserMemoryCache(table, embeddings.models, near=near),
        turns,
        indexes,
        NearbyTurns(indexes, turns, vectors, embeddings.model, metrics),
        AccessCounts(table, background, now),
        reembedding,
        background,
    )
