"""Routes each request to the DAX cluster or to DynamoDB, by the rules of item_table.py."""

import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import uuid4

from mcp_memory_server.adapters.dax.cluster import READS, Cluster, ClusterFailedError
from mcp_memory_server.adapters.dax.stale_keys import StaleKeys, written_keys
from mcp_memory_server.adapters.dynamodb.address import TableAddress
from mcp_memory_server.adapters.dynamodb.calls import Calls, Deadline, RefusedError
from mcp_memory_server.ports.metric_catalogue import DAX_ITEM_CACHE_READS, DAX_LATENCY, DAX_REQUESTS
from mcp_memory_server.ports.metrics import Metrics

_WRITES = frozenset({"put_item", "update_item", "delete_item", "transact_write_items", "batch_write_item"})
_MISMATCH = "IdempotentParameterMismatchException"
_CACHED = frozenset({"get_item", "batch_get_item"})


class CallsThroughCluster(Calls):
    """Sends writes and cached reads to the cluster, everything else to DynamoDB.

    When the cluster does not answer, the request goes to DynamoDB within the same deadline.
    """

    def __init__(
        self,
        address: TableAddress,
        connect: Callable[[], Any],
        cluster: Cluster,
        *,
        deadline: timedelta,
        metrics: Metrics,
    ) -> None:
        super().__init__(address, connect, deadline=deadline)
        self._cluster = cluster
        self._metrics = metrics
        self._stale_keys = StaleKeys(address.name)

    async def send(
        self, operation: str, parameters: Mapping[str, Any], deadline: Deadline, *, shown: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """See Calls."""
        try:
            return await self._send(operation, parameters, deadline, (*shown, _MISMATCH))
        except RefusedError as refused:
            if refused.code != _MISMATCH or _MISMATCH in shown:
                raise
        # The cluster encodes a transaction differently, so DynamoDB rejects the same token for our encoding of it. A
        # new token is safe: the operation ids in the items show whether the transaction happened.
        return await self._send(operation, {**parameters, "ClientRequestToken": uuid4().hex}, deadline, shown)

    async def close(self) -> None:
        """See Calls."""
        self._stale_keys.stop()
        await self._cluster.close()
        await super().close()

    async def _send(
        self, operation: str, parameters: Mapping[str, Any], deadline: Deadline, shown: tuple[str, ...]
    ) -> dict[str, Any]:
        if not _is_for_the_cluster(operation, parameters):
            return await self._measured("direct", operation, super().send(operation, parameters, deadline, shown=shown))
        try:
            asked = self._repeat(self._ask, operation, parameters, deadline, shown)
            answer = await self._measured("cluster", operation, asked)
        except ClusterFailedError as failed:
            return await self._fall_back(operation, parameters, deadline, shown, failed)
        self._stale_keys.refresh(self._cluster.in_background)
        return answer

    async def _ask(self, operation: str, parameters: Mapping[str, Any], deadline: Deadline) -> dict[str, Any]:
        if operation not in _CACHED:
            return await self._cluster.ask(operation, parameters, deadline.remaining())
        # A read that consumed no capacity of the table was answered from the item cache.
        asked = {**parameters, "ReturnConsumedCapacity": "TOTAL"}
        answer = await self._cluster.ask(operation, asked, deadline.remaining())
        self._metrics.record(DAX_ITEM_CACHE_READS, 1, result="miss" if _cost(answer) else "hit")
        return answer

    async def _fall_back(
        self,
        operation: str,
        parameters: Mapping[str, Any],
        deadline: Deadline,
        shown: tuple[str, ...],
        failed: ClusterFailedError,
    ) -> dict[str, Any]:
        # Before the request is sent: it may be carried out although its reply is lost.
        self._stale_keys.add(written_keys(operation, parameters))
        asked = super().send(operation, _consistent(parameters), deadline, shown=shown)
        try:
            return await self._measured("fallback", operation, asked)
        except RefusedError as refused:
            lost = refused.after_lost_reply or failed.may_have_happened
            raise RefusedError(refused.code, refused.reasons, after_lost_reply=lost) from refused

    async def _measured(self, path: str, operation: str, asked: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        kind, began = "write" if operation in _WRITES else "read", time.perf_counter()
        try:
            return await asked
        except ClusterFailedError as failed:
            path = "cluster_error" if failed.was_asked else ""
            raise
        finally:
            if path:
                milliseconds = 1000 * (time.perf_counter() - began)
                self._metrics.record(DAX_REQUESTS, 1, operation=kind, path=path)
                self._metrics.record(DAX_LATENCY, milliseconds, operation=kind, path=path)


def _is_for_the_cluster(operation: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether the cluster is of use: it only passes consistent reads on, and would cache the results of the
    index for longer than the index lags behind the table."""
    if operation in READS and "IndexName" not in parameters:
        asked = parameters.get("RequestItems", {"": parameters}).values()
        return not any(one.get("ConsistentRead", False) for one in asked)
    return operation in _WRITES


def _consistent(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    if "ConsistentRead" in parameters:
        return {**parameters, "ConsistentRead": True}
    wanted = parameters.get("RequestItems")
    if wanted and all(isinstance(one, Mapping) for one in wanted.values()):
        return {**parameters, "RequestItems": {name: {**one, "ConsistentRead": True} for name, one in wanted.items()}}
    return parameters


def _cost(answer: Mapping[str, Any]) -> float:
    consumed = answer.get("ConsumedCapacity") or []
    return sum(float(one.get("CapacityUnits", 0)) for one in (consumed if isinstance(consumed, list) else [consumed]))
