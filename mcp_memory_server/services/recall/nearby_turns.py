"""Add turns that a vector service finds near a question, if the user's index does not hold all conversations."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence

from mcp_memory_server.domain.kernel.items import Key
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.recall.memories import StoredMemory, UserSnapshot
from mcp_memory_server.errors import MemoryServerError
from mcp_memory_server.ports.metric_catalogue import FOREIGN_VECTORS
from mcp_memory_server.ports.metrics import Metrics, NoMetrics
from mcp_memory_server.ports.vector_index import VectorIndex
from mcp_memory_server.schema.vector_entries import owner_of, turn_at, vector_owner
from mcp_memory_server.services.conversations.past_turns import PastTurns, TurnPlace
from mcp_memory_server.services.kernel.user_memory_cache import ActivityLog
from mcp_memory_server.services.recall.index_registry import TOO_MANY, IndexRegistry
from mcp_memory_server.services.recall.user_index import UserIndex

TIMEOUT_SECONDS = 2.0
"""A reply waits this long for the service and for reading what it found."""
REST_SECONDS = 10.0
"""After a failure the service is not asked for this long, so that not every reply waits for it."""

NOT_ASKED = "the vector index did not answer: of conversations that are not indexed here nothing was searched"
BY_MEANING = "older conversations were searched by meaning only, and without what was said a moment ago"

logger = logging.getLogger(__name__)


class NearbyTurns:
    """Returns the index of a user, with turns from a vector service where the index is incomplete.

    The service is asked while the index is updated, and only for users with conversations that do not fit. What it
    found is read from the table under keys of the owner who asks, and ranked like everything else.
    """

    def __init__(
        self,
        memories: IndexRegistry,
        turns: PastTurns,
        vectors: VectorIndex | None = None,
        model: str | None = None,
        metrics: Metrics | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``model`` is the name of the model that makes the vectors."""
        self._memories = memories
        self._turns = turns
        self._vectors = vectors
        self._model = model
        self._metrics = metrics or NoMetrics()
        self._monotonic = monotonic
        self._rests_until = float("-inf")

    async def user_index(
        self, scope: Scope, snapshot: UserSnapshot, activities: ActivityLog, vector: bytes | None
    ) -> tuple[UserIndex, tuple[str, ...]]:
        """Return the index to search for a question with this vector, and sentences about what is missing."""
        if self._vectors is None or not any(vector or b"") or self._memories.is_complete(scope):
            return await self._memories.of(scope, snapshot, activities)
        asking = asyncio.ensure_future(self._near(scope, vector or b"", self._vectors))
        try:
            user_index, missing = await self._memories.of(scope, snapshot, activities)
            if self._memories.is_complete(scope):
                return user_index, missing  # everything was read meanwhile
            found = await asking
        finally:
            asking.cancel()
        if found is None:
            return user_index, (*missing, NOT_ASKED)
        await self._memories.add_transient(scope, user_index, found)
        return user_index, tuple(BY_MEANING if sentence == TOO_MANY else sentence for sentence in missing)

    async def _near(
        self, scope: Scope, vector: bytes, vectors: VectorIndex
    ) -> Mapping[TurnPlace, StoredMemory | None] | None:
        """Return the turns that are nearest, those that are not indexed here as they are in the table now.

        None if that cannot be told in time.
        """
        if self._monotonic() < self._rests_until:
            return None
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                keys = await vectors.nearest(vector_owner(scope.user_id, self._model or ""), vector)
                places = self._places(scope, keys)
                found = await self._turns.at(scope, self._memories.not_indexed(scope, places))
                # The nearest last: if there is no room for all, the first are evicted.
                return {place: found.get(place) for place in reversed(places)}
        except (MemoryServerError, TimeoutError):
            # A reply without the service is still useful, whatever the error is.
            logger.warning("the vector index does not answer and is not asked for a while", exc_info=True)
            self._rests_until = self._monotonic() + REST_SECONDS
            return None

    def _places(self, scope: Scope, keys: Sequence[Key]) -> list[TurnPlace]:
        """Return the places of the turns that belong to the user, and count those of other users."""
        own = [key for key in keys if owner_of(key) == scope.user_id]
        if foreign := len(keys) - len(own):
            logger.error("the vector index returned %d items of other owners: they were dropped", foreign)
            self._metrics.record(FOREIGN_VECTORS, foreign)
        turns = [turn for key in own if (turn := turn_at(key)) is not None]
        return [TurnPlace(session.session_id or "", turn_id, number) for session, turn_id, number in turns]
