"""The vector index with measured searches."""

from collections.abc import Sequence

from mcp_memory_server.adapters.opentelemetry.calls import MeasuredCalls
from mcp_memory_server.domain.kernel.items import Key
from mcp_memory_server.ports.metric_catalogue import READ_LATENCY
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.ports.vector_index import MOST_FOUND, VectorIndex


class MeasuredVectorIndex:
    """Answers the vector index's port. ``engine`` is the label of the real one."""

    def __init__(self, index: VectorIndex, metrics: Metrics, *, engine: str) -> None:
        self._index = index
        self._calls = MeasuredCalls(metrics, engine)

    async def nearest(self, owner: str, vector: bytes, *, limit: int = MOST_FOUND) -> Sequence[Key]:
        """See the port."""
        return await self._calls.make(READ_LATENCY, "nearest", self._index.nearest(owner, vector, limit=limit))

    async def close(self) -> None:
        """See the port."""
        await self._index.close()
