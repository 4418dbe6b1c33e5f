"""The item table: the source of truth of all long-term memory."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from mcp_memory_server.domain.kernel.items import Item, Key, KeyPage, Page, Put, Update, Write


class ItemTable(Protocol):
    """Items in partitions, ordered by sort key within a partition, each with a version and an optional expiry.

    An expired item is absent: for reads, for expected versions, and for updates, which start from nothing. Expiry has
    whole seconds. Numbers come back as int or float (a whole float as int), sequences as list.

    Every write may carry an operation id, which is kept with the row. A write with the id of the last write to the row
    is a retry: nothing changes, and the answer is that of the first time. A retry is recognised even after up to three
    later updates of others, but not after a later put. If any row knows the id of several writes made at once, all of
    them are a retry.

    An item that cannot be read is returned with a `DamagedBody` and version 0. A put that expects nothing, or whatever
    is there, replaces it; what it held is kept in its quarantine partition. A deletion without an expected version
    removes it. Other writes to it raise TableDamagedError, but for an update that ``may_start_anew``.

    Any method may raise TableUnavailableError, when the table does not answer within its deadline (a write may then
    have happened: repeat it with the same operation id), and TableDamagedError. Writes may raise TableFullError; and
    InvalidRequestError or TooLargeError, before anything is written. A method never blocks the event loop, and may be
    awaited from any event loop.
    """

    async def get(self, key: Key, *, may_be_stale: bool = False) -> Item | None:
        """Return the item, None if it is absent. A stale read may miss the writes of the last moments."""
        ...

    async def get_many(
        self, keys: Collection[Key], *, attributes: Collection[str] | None = None, may_be_stale: bool = False
    ) -> Mapping[Key, Item]:
        """Return the items that exist. Each is fresh, but together they are no consistent snapshot.

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

        ``prefix`` or ``between`` (both ends included) narrow the query; ``limit=None`` returns all, however many
        requests that takes. Fewer items than the limit are returned only at the end of the result. ``attributes``
        limits the bodies to these names. A cursor continues the same query, stays valid while items are added and
        removed, and never repeats an item.

        Raises:
            InvalidRequestError: The limit is under 1, or both prefix and between are given.
        """
        ...

    async def find(
        self, index_pk: str, *, prefix: str = "", descending: bool = False, limit: int, cursor: str | None = None
    ) -> KeyPage:
        """Return keys of items by the ``ix_pk`` and ``ix_sk`` of their bodies, in the order of ``ix_sk``.

        An item is in this index if its body has both, as text. The index follows writes a moment later and ignores
        expiry: a key found here may be gone, and one written just now may be missing.

        Raises:
            InvalidRequestError: The limit is under 1, or the cursor is not one of this query's.
        """
        ...

    async def list_keys(self, *, limit: int, cursor: str | None = None) -> KeyPage:
        """Return keys of the whole table, those of a partition not necessarily together.

        This is for an operator who needs to know what is there: DynamoDB reads, and charges for, the whole table. A
        page may hold fewer keys than the limit, even none, before the end. Items written meanwhile may be missing.

        Raises:
            InvalidRequestError: The limit is under 1, or the cursor is not one of this method's.
        """
        ...

    async def scan(self, *, limit: int, cursor: str | None = None) -> Page:
        """Return items of all partitions, in the engine's order, expired ones included. For operators.

        It reads the whole table, which costs accordingly. A cursor is valid for this engine only.
        """
        ...

    async def quarantine(self, key: Key) -> None:
        """Move the item to its quarantine partition if it is one that cannot be read; else do nothing."""
        ...

    async def put(self, write: Put, *, operation_id: str | None = None) -> int:
        """Write the item and return its new version.

        Without an expected version this costs DynamoDB a read as well.

        Raises:
            ConflictError: The stored version is not the expected one. Nothing was written.
        """
        ...

    async def delete(self, key: Key, *, expected_version: int | None = None) -> bool:
        """Remove the item and return whether it existed.

        Raises:
            ConflictError: The stored version is not the expected one. Nothing was removed.
        """
        ...

    async def update(self, write: Update, *, operation_id: str | None = None) -> Item:
        """Change attributes in one atomic step and return the updated item.

        Raises:
            ConflictError: The stored version is not the expected one. Nothing was changed.
        """
        ...

    async def write(self, writes: Sequence[Write], *, operation_id: str | None = None) -> None:
        """Apply all of the writes, or none. At most 10, each to another item.

        Raises:
            ConflictError: A stored version is not the expected one. Nothing was written.
        """
        ...

    async def change_token(self) -> object | None:
        """Return a token that stays equal as long as nothing is written to the table; None if the engine has none."""
        ...

    async def delete_many(self, keys: Collection[Key]) -> None:
        """Remove these items one by one: after an error some may be gone. Repeating is harmless."""
        ...

    async def scrub(self, texts: Collection[str] = ()) -> bool:
        """Erase deleted content from the engine's files, as far as the engine can, and return whether that is done.

        None of the ``texts`` that were deleted is in a file then. False if something prevents it at the moment, a
        reader with an old snapshot for instance: then it is tried again in the background.
        """
        ...

    async def close(self) -> None:
        """Finish running writes and release the engine. Closing twice is harmless."""
        ...
