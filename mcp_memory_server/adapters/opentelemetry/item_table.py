"""The item table with measured calls."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence

from mcp_memory_server.adapters.opentelemetry.calls import MeasuredCalls
from mcp_memory_server.domain.kernel.items import Item, Key, KeyPage, Page, Put, Update, Write
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metric_catalogue import ITEMS_PER_QUERY, READ_LATENCY, WRITE_LATENCY
from mcp_memory_server.ports.metrics import Metrics


class MeasuredItemTable:
    """Answers the item table's port. ``engine`` is the label of the real table."""

    def __init__(
        self, table: ItemTable, metrics: Metrics, *, engine: str, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._table = table
        self._calls = MeasuredCalls(metrics, engine, clock)

    async def get(self, key: Key, *, may_be_stale: bool = False) -> Item | None:
        """See the port."""
        return await self._calls.make(READ_LATENCY, "get", self._table.get(key, may_be_stale=may_be_stale))

    async def get_many(
        self, keys: Collection[Key], *, attributes: Collection[str] | None = None, may_be_stale: bool = False
    ) -> Mapping[Key, Item]:
        """See the port."""
        read = self._table.get_many(keys, attributes=attributes, may_be_stale=may_be_stale)
        return await self._calls.make(READ_LATENCY, "get_many", read)

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
        """See the port. How many items came back is recorded too."""
        query = self._table.query(
            pk,
            prefix=prefix,
            between=between,
            descending=descending,
            limit=limit,
            cursor=cursor,
            attributes=attributes,
            may_be_stale=may_be_stale,
        )
        page = await self._calls.make(READ_LATENCY, "query", query)
        self._calls.count(ITEMS_PER_QUERY, len(page.items))
        return page

    async def find(
        self, index_pk: str, *, prefix: str = "", descending: bool = False, limit: int, cursor: str | None = None
    ) -> KeyPage:
        """See the port."""
        found = self._table.find(index_pk, prefix=prefix, descending=descending, limit=limit, cursor=cursor)
        return await self._calls.make(READ_LATENCY, "find", found)

    async def list_keys(self, *, limit: int, cursor: str | None = None) -> KeyPage:
        """See the port."""
        return await self._calls.make(READ_LATENCY, "list_keys", self._table.list_keys(limit=limit, cursor=cursor))

    async def scan(self, *, limit: int, cursor: str | None = None) -> Page:
        """See the port. It is for operators, and not measured."""
        return await self._table.scan(limit=limit, cursor=cursor)

    async def quarantine(self, key: Key) -> None:
        """See the port. It is for operators, and not measured."""
        await self._table.quarantine(key)

    async def put(self, write: Put, *, operation_id: str | None = None) -> int:
        """See the port."""
        return await self._calls.make(WRITE_LATENCY, "put", self._table.put(write, operation_id=operation_id))

    async def delete(self, key: Key, *, expected_version: int | None = None) -> bool:
        """See the port."""
        return await self._calls.make(
            WRITE_LATENCY, "delete", self._table.delete(key, expected_version=expected_version)
        )

    async def update(self, write: Update, *, operation_id: str | None = None) -> Item:
        """See the port."""
        return await self._calls.make(WRITE_LATENCY, "update", self._table.update(write, operation_id=operation_id))

    async def write(self, writes: Sequence[Write], *, operation_id: str | None = None) -> None:
        """See the port."""
        await self._calls.make(WRITE_LATENCY, "write", self._table.write(writes, operation_id=operation_id))

    async def change_token(self) -> object | None:
        """See the port. It is not measured, because it costs next to nothing."""
        return await self._table.change_token()

    async def delete_many(self, keys: Collection[Key]) -> None:
        """See the port."""
        await self._calls.make(WRITE_LATENCY, "delete_many", self._table.delete_many(keys))

    async def scrub(self, texts: Collection[str] = ()) -> bool:
        """See the port. It is housekeeping, and not measured."""
        return await self._table.scrub(texts)

    async def close(self) -> None:
        """See the port."""
        await self._table.close()
