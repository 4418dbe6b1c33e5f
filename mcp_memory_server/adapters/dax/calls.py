"""Requests through a DAX cluster, and past it: which go where, and what happens when the cluster is silent."""

import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import uuid4

from mcp_memory_server.adapters.dax.cluster import READS, Cluster, ClusterFailedError
from mcp_memory_server.adapters.dax.stale_keys import StaleKeys, written_keys
from mcp_memory_server.adapters.dynamodb.address import TableAddress
from mcp_memory_server.adapters.dynamodb.calls import Calls, Deadline, RefusedError
from mcp_memory_server.ports.measures import DAX_ITEM_READS, DAX_LATENCY, DAX_REQUESTS
from mcp_memory_server.ports.metrics import Metrics

_WRITES = frozenset({"put_item", "update_item", "delete_item", "transact_write_items", "batch_write_item"})
_MISMATCH = "IdempotentParameterMismatchException"
_CACHED = frozenset({"get_item", "batch_get_item"})


class CallsThroughCluster(Calls):
    """Sends writes and reads from the cache to the cluster, everything else to DynamoDB itself.

    When the cluster does not answer, DynamoDB is asked within the same deadline.
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
        self._past = StaleKeys(address.name)

    async def send(
        self, operation: str, parameters: Mapping[str, Any], deadline: Deadline, *, shown: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """See Calls."""
        try:
            return await self._send(operation, parameters, deadline, (*shown, _MISMATCH))
        except RefusedError as refused:
            if refused.code != _MISMATCH or _MISMATCH in shown:
                raise
        # The cluster puts a transaction into other words than we do, so DynamoDB does not recognise the one by the
        # token of the other. What it did shows in the items, by the operation id.
        return await self._send(operation, {**parameters, "ClientRequestToken": uuid4().hex}, deadline, shown)

    async def close(self) -> None:
        """See Calls."""
        self._past.stop()
        await self._cluster.close()
        await super().close()

    async def _send(
        self, operation: str, parameters: Mapping[str, Any], deadline: Deadline, shown: tuple[str, ...]
    ) -> dict[str, Any]:
        if not _is_for_the_cluster(operation, parameters):
            return await self._measured("table", operation, super().send(operation, parameters, deadline, shown=shown))
        try:
            asked = self._repeat(self._ask, operation, parameters, deadline, shown)
            answer = await self._measured("cluster", operation, asked)
        except ClusterFailedError as failed:
            return await self._around(operation, parameters, deadline, shown, failed)
        self._past.refresh(self._cluster.in_background)
        return answer

    async def _ask(self, operation: str, parameters: Mapping[str, Any], deadline: Deadline) -> dict[str, Any]:
        if operation not in _CACHED:
            return await self._cluster.ask(operation, parameters, deadline.remaining())
        # What a read cost the table tells whether the cache had it: nothing.
        asked = {**parameters, "ReturnConsumedCapacity": "TOTAL"}
        answer = await self._cluster.ask(operation, asked, deadline.remaining())
        self._metrics.record(DAX_ITEM_READS, 1, result="miss" if _cost(answer) else "hit")
        return answer

    async def _around(
        self,
        operation: str,
        parameters: Mapping[str, Any],
        deadline: Deadline,
        shown: tuple[str, ...],
        failed: ClusterFailedError,
    ) -> dict[str, Any]:
        # Noted before it is sent: it may be carried out although its answer is lost.
        self._past.add(written_keys(operation, parameters))
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
            path = "silent" if failed.was_asked else ""
            raise
        finally:
            if path:
                milliseconds = 1000 * (time.perf_counter() - began)
                self._metrics.record(DAX_REQUESTS, 1, operation=kind, path=path)
                self._metrics.record(DAX_LATENCY, milliseconds, operation=kind, path=path)


def _is_for_the_cluster(operation: str, parameters: Mapping[str, Any]) -> bool:
    """Tell whether the cluster has something to add: it passes consistent reads on, and would keep an index's answers
    for longer than the index is behind."""
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
    told = answer.get("ConsumedCapacity") or []
    return sum(float(one.get("CapacityUnits", 0)) for one in (told if isinstance(told, list) else [told]))
