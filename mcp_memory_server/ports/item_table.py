"""The item table: the one place where long-term memory is true."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from mcp_memory_server.domain.kernel.items import Item, Key, KeyPage, Page, Put, Update, Write


class ItemTable(Protocol):
    """Items in partitions, ordered by sort key within a partition, each with a version and an optional expiry.

    An expired item is absent: for reads, for expected versions, and for updates, which start from nothing.
    Expiry has whole seconds. Numbers come back as int or float (a whole float as int), lists as list.

    Every write may carry an operation id, which is kept with the row. A write whose id is that of the last write
    to the row is a repeat: nothing changes, and the answer is that of the first time. It is recognised even after
    up to three later updates of others, but not after a later put. If any row knows the id of several writes made at
    once, all of them are a repeat.

    Any method may raise TableUnavailableError, when the table does not answer within its deadline (a write may
    then have happened: repeat it with the same operation id), and TableDamagedError. Writes may raise
    TableFullError; and InvalidRequestError or TooLargeError, before anything is written. A method never blocks the
    event loop, and may be awaited from any event loop.
    """

    async def get(self, key: Key, *, may_be_stale: bool = False) -> Item | None:
        """Return the item, None if it is absent. Stale means: without writes of the last moments."""
        ...

    async def get_many(
        self, keys: Collection[Key], *, attributes: Collection[str] | None = None, may_be_stale: bool = False
    ) -> Mapping[Key, Item]:
        """Return the items that are there. Each is fresh; together they are no snapshot.

        ``attributes`` limits the bodies to these names.
        """
        ...

    async def query(
        self,
        pk: str,
        *,
        prefix: str = "",
        between: tuple[str, str] | None = None,
        descending: bool = False,
        limit: int | None,
        cursor: str | None = None,
        attributes: Collection[str] | None = None,
        may_be_stale: bool = False,
    ) -> Page:
        """Return items of one partition in the byte order of their sort keys.

        ``prefix`` or ``between`` (both ends included) narrow it; ``limit=None`` means all, however many requests
        that takes. Fewer items than the limit are returned only at the end of what was asked for. ``attributes``
        limits the bodies to these names. A cursor continues the same query, stays valid while items come and go,
        and never repeats an item.

        Raises:
            InvalidRequestError: The limit is under 1, or both prefix and between are given.
        """
        ...

    async def find(
        self, index_pk: str, *, prefix: str = "", descending: bool = False, limit: int, cursor: str | None = None
    ) -> KeyPage:
        """Return keys of items by what their bodies say in ``ix_pk`` and ``ix_sk``, in the order of ``ix_sk``.

        An item is in this index when its body has both, as text. The index follows writes a moment later and knows
        nothing of expiry: a key found here may be gone, and one written just now may be missing.

        Raises:
            InvalidRequestError: The limit is under 1, or the cursor is not one of this query's.
        """
        ...

    async def put(self, write: Put, *, operation_id: str | None = None) -> int:
        """Write the item and return its new version.

        Without an expected version this costs DynamoDB a read as well.

        Raises:
            ConflictError: The stored version is not the expected one. Nothing was written.
        """
        ...

    async def delete(self, key: Key, *, expected_version: int | None = None) -> bool:
        """Remove the item and tell whether it was there.

        Raises:
            ConflictError: The stored version is not the expected one. Nothing was removed.
        """
        ...

    async def update(self, write: Update, *, operation_id: str | None = None) -> Item:
        """Change attributes in one atomic step and return the item as it is now.

        Raises:
            ConflictError: The stored version is not the expected one. Nothing was changed.
        """
        ...

    async def write(self, writes: Sequence[Write], *, operation_id: str | None = None) -> None:
        """Make all of the writes, or none. At most 10, each for another item.

        Raises:
            ConflictError: A stored version is not the expected one. Nothing was written.
        """
        ...

    async def change_token(self) -> object | None:
        """Return a token that stays equal as long as nothing is written to the table; None if the engine has none."""
        ...

    async def delete_many(self, keys: Collection[Key]) -> None:
        """Remove all of these, in any order, not at once: after an error some may be gone. Repeating is harmless."""
        ...

    async def scrub(self) -> None:
        """Make sure, as far as the engine can, that deleted content is no longer in its files."""
        ...

    async def close(self) -> None:
        """Finish what was begun, and let go of the engine. Closing twice is harmless."""
        ...
