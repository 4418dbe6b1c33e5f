"""A vector index: what lies nearest in meaning, found by a service that has all of it."""

from collections.abc import Sequence
from typing import Protocol

from mcp_memory_server.domain.kernel.items import Key

MOST_FOUND = 100
"""What the service returns at most, however much there is. There is no second page."""


class VectorIndex(Protocol):
    """Finds items of the table by the vectors that are stored with them. It is written to by writing to the table.

    It is a hint and never the truth. It follows the table a moment later: what was just written may be missing, and
    what was just deleted may still be found. It knows nothing of expiry. It is asked for one owner, but no policy of
    the platform holds it to that. So the caller checks the owner of every key again, and reads the item before it
    tells anybody what is in it.
    """

    async def nearest(self, owner: str, vector: bytes, *, limit: int = MOST_FOUND) -> Sequence[Key]:
        """Return the keys of this owner's items whose vectors lie nearest, the nearest first, at most ``limit``.

        The search is approximate: it may pass over one of them. The vector has the form that ``domain.vectors``
        describes, has a direction, and has as many dimensions as those in the index. The event loop is never blocked,
        and it may be awaited from any event loop.

        Raises:
            InvalidRequestError: The limit is not 1 to 100, or the index cannot answer as it is: it is still being
                built, or its vectors have other dimensions.
            UnavailableError: It did not answer in time, or refused to because it was asked too often.
            ConfigurationError: There is no such index, or the credentials may not search it.
        """
        ...

    async def close(self) -> None:
        """Let go of what is open. Closing twice is harmless."""
        ...
