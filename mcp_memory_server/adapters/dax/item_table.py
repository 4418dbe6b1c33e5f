"""The item table through a DAX cluster, which keeps an item cache in front of DynamoDB.

A read is *fresh* when it includes every write that was acknowledged to this process.

1. Writes go through the cluster, which writes to DynamoDB and then updates its item cache. A write past the cluster
   would leave that cache stale until the item's TTL ends.
2. Strongly consistent reads and queries of the index go to DynamoDB directly (calls.py).
3. Each node caches by itself and may serve a replaced item for the item TTL and NODE_LAG more. A cached read is
   compared with the last write of this process, and read again from DynamoDB if it is older (own_writes.py).
4. If the cluster does not answer, DynamoDB is asked within the same deadline, with consistent reads. The keys of such
   writes are remembered first, and refreshed through the cluster when it answers again (stale_keys.py).
5. A node that hangs may carry out a write long after DynamoDB was asked instead. An update therefore names the highest
   version up to which the item still remembers the operation, so that the late repetition is refused.
6. A cluster that fails repeatedly is not asked for a while (health_gate.py).
"""

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from mcp_memory_server.adapters.dax.calls import CallsThroughCluster
from mcp_memory_server.adapters.dax.cluster import Cluster, ClusterAddress, cluster_connector
from mcp_memory_server.adapters.dax.own_writes import OwnWrites
from mcp_memory_server.adapters.dynamodb.address import TableAddress, connector
from mcp_memory_server.adapters.dynamodb.calls import Deadline
from mcp_memory_server.adapters.dynamodb.item_table import DEADLINE, DynamoDbItemTable, batches
from mcp_memory_server.adapters.dynamodb.reads import MAX_KEYS_PER_READ, read_row, read_rows
from mcp_memory_server.adapters.dynamodb.values import OPERATIONS, Row
from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.domain.kernel.items import Delete, Item, Key, Put, Update, Write
from mcp_memory_server.ports.metrics import Metrics, NoMetrics

ITEM_TTL = timedelta(minutes=5)
"""How long a cluster keeps an item unless its parameter group says otherwise."""

NODE_LAG = timedelta(seconds=10)
"""How much longer than that a node may serve an item that was replaced through another node."""


def open_dax(
    cluster: str,
    table: str,
    *,
    region: str | None = None,
    endpoint: str | None = None,
    item_ttl: timedelta = ITEM_TTL,
    deadline: timedelta = DEADLINE,
    metrics: Metrics | None = None,
    now: Callable[[], datetime] = utc_now,
) -> "DaxItemTable":
    """Return the table, without a request. ``endpoint`` is that of DynamoDB; ``item_ttl`` is at least the cluster's.

    Raises:
        ConfigurationError: The name, the cluster or the endpoint cannot be one.
    """
    address = TableAddress(table, region, endpoint)
    asked = Cluster(cluster_connector(ClusterAddress(cluster), region, deadline), deadline=deadline)
    connect = connector(address, deadline)
    calls = CallsThroughCluster(address, connect, asked, deadline=deadline, metrics=metrics or NoMetrics())
    return DaxItemTable(calls, OwnWrites((item_ttl + NODE_LAG).total_seconds()), now=now)


class DaxItemTable(DynamoDbItemTable):
    """Answers the item table's port. Writes go through the cluster, reads go to DynamoDB."""

    def __init__(
        self, calls: CallsThroughCluster, own_writes: OwnWrites, *, now: Callable[[], datetime] = utc_now
    ) -> None:
        super().__init__(calls, now=now)
        self._through_cluster = calls
        self._own_writes = own_writes

    def cached_reads(self) -> "CachedItemTable":
        """Return the same table, whose ``get`` and ``get_many`` may be answered by the cluster's item cache.

        Its reads are fresh for this process; writes of other processes appear with a delay. Use it where no decision
        between processes depends on the read. Close the table, not this.
        """
        return CachedItemTable(self._through_cluster, self._own_writes, now=self._now)

    async def put(self, write: Put, *, operation_id: str | None = None) -> int:
        """See the port."""
        operation = uuid.uuid4().hex if operation_id is None else operation_id
        with self._own_writes.writing({write.key: operation}):
            return await super().put(write, operation_id=operation)

    async def update(self, write: Update, *, operation_id: str | None = None) -> Item:
        """See the port."""
        operation = uuid.uuid4().hex if operation_id is None else operation_id
        with self._own_writes.writing({write.key: operation}):
            return await super().update(write, operation_id=operation)

    async def _highest_version(self, write: Update, deadline: Deadline, attempt: int) -> int | None:
        # Rule 5: beyond this version the item has forgotten the operation, and it would be applied twice.
        if write.expected_version is not None:
            return None
        row = await read_row(self._calls, write.key, deadline, may_be_stale=attempt == 0)
        return (0 if row is None else row.version) + len(OPERATIONS) - 1

    async def delete(self, key: Key, *, expected_version: int | None = None) -> bool:
        """See the port."""
        with self._own_writes.writing({key: None}):
            return await super().delete(key, expected_version=expected_version)

    async def write(self, writes: Sequence[Write], *, operation_id: str | None = None) -> None:
        """See the port."""
        operation = uuid.uuid4().hex if operation_id is None else operation_id
        left = {write.key: None if isinstance(write, Delete) else operation for write in writes}
        with self._own_writes.writing(left):
            await super().write(writes, operation_id=operation)

    async def delete_many(self, keys: Collection[Key]) -> None:
        """See the port."""
        with self._own_writes.writing(dict.fromkeys(keys)):
            await super().delete_many(keys)


class CachedItemTable(DaxItemTable):
    """The same table, whose point reads come from the item cache unless that is older than an own write (rule 3)."""

    async def get(self, key: Key, *, may_be_stale: bool = False) -> Item | None:
        """See the port."""
        last_write, deadline = self._own_writes.last_write(key), self._calls.start()
        row = await read_row(self._calls, key, deadline, may_be_stale=True)
        if not may_be_stale and last_write is not None and not last_write.is_included_in(row):
            row = await read_row(self._calls, key, deadline)
            self._own_writes.confirm(key, row, instead_of=last_write)
        return row.item() if row is not None and row.is_live(self._now()) else None

    async def get_many(
        self, keys: Collection[Key], *, attributes: Collection[str] | None = None, may_be_stale: bool = False
    ) -> Mapping[Key, Item]:
        """See the port. The cache holds whole items, so whole ones are asked for."""
        rows: dict[Key, Row] = {}
        for some in batches(keys, MAX_KEYS_PER_READ):
            rows |= await self._cached_rows(some, may_be_stale=may_be_stale)
        now = self._now()
        return {key: _with_only(attributes, row.item()) for key, row in rows.items() if row.is_live(now)}

    async def _cached_rows(self, keys: Collection[Key], *, may_be_stale: bool) -> dict[Key, Row]:
        last_writes = {} if may_be_stale else {key: last for key in keys if (last := self._own_writes.last_write(key))}
        deadline = self._calls.start()
        rows = await read_rows(self._calls, keys, deadline, may_be_stale=True)
        stale = [key for key, last in last_writes.items() if not last.is_included_in(rows.get(key))]
        if stale:
            found = await read_rows(self._calls, stale, deadline)
            for key in stale:
                self._own_writes.confirm(key, found.get(key), instead_of=last_writes[key])
                rows.pop(key, None)
            rows |= found
        return rows


def _with_only(attributes: Collection[str] | None, item: Item) -> Item:
    if attributes is None:
        return item
    return replace(item, body={name: item.body[name] for name in attributes if name in item.body})
