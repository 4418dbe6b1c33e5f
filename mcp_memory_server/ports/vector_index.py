"""A vector index: nearest-neighbour search by a service that indexes all items of the table."""

from collections.abc import Sequence
from typing import Protocol

from mcp_memory_server.domain.kernel.items import Key

MOST_FOUND = 100
"""The most keys that the service returns. There is no second page."""


class VectorIndex(Protocol):
    """Finds items of the table by the vectors stored with them. It is updated by writing to the table.

    Its results are hints: it follows the table a moment later, so an item just written may be missing and one just
    deleted may still be found, and it ignores expiry. It is asked for one owner, but nothing in the platform enforces
    that. The caller therefore checks the owner of every key again, and reads the item before it returns anything from
    it.
    """

    async def nearest(self, owner: str, vector: bytes, *, limit: int = MOST_FOUND) -> Sequence[Key]:
        """Return the keys of this owner's items with the nearest vectors, nearest first, at most ``limit``.

        The search is approximate and may miss one. The vector has the form that ``domain.vectors`` describes, has a
        direction, and has as many dimensions as those in the index. The event loop is never blocked, and it may be
        awaited from any event loop.

        Raises:
            InvalidRequestError: The limit is not 1 to 100, or the index cannot answer: it is still being built, or its
                vectors have other dimensions.
            UnavailableError: It did not answer in time, or refused because of too many requests.
            ConfigurationError: There is no such index, or the credentials may not search it.
        """
        ...

    async def close(self) -> None:
        """Release all resources. Closing twice is harmless."""
        ...
