"""Keys that were written past the cluster, so that its item cache is stale, and how it is refreshed.

1. A key is added before its write is sent to DynamoDB: the write may happen although its reply is lost.
2. Keys are refreshed, oldest first, by one background task, which starts when the cluster has answered a request.
3. A refresh changes nothing: it rewrites an item that exists with its own version, or deletes one that is absent. Both
   make the cluster drop its cached item.
4. A key stays until the cluster has answered its refresh, with whatever result. If the cluster fails, the key is put
   back and the task ends; the next answer starts it again.
5. At most MOST_KEYS are remembered. Keys beyond that, and those left when the process ends, stay stale for as long as
   the cluster keeps an item (its item TTL). Readers of this process are still right: see own_writes.py.
"""

from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Any

from mcp_memory_server.adapters.aws.account_failures import code_of
from mcp_memory_server.adapters.dax.cluster import is_answer
from mcp_memory_server.adapters.dynamodb.expressions import key_attributes
from mcp_memory_server.domain.kernel.items import Key

MOST_KEYS = 10_000
"""Beyond this the oldest are dropped (rule 5)."""

_WRITES = {"put_item": "Item", "update_item": "Key", "delete_item": "Key"}


def written_keys(operation: str, parameters: Mapping[str, Any]) -> list[Key]:
    """Return the keys of the items that a request writes; none if it reads."""
    match operation:
        case "put_item" | "update_item" | "delete_item":
            return [_key(parameters[_WRITES[operation]])]
        case "transact_write_items":
            actions = (action for entry in parameters["TransactItems"] for action in entry.values())
            return [_key(action.get("Item") or action["Key"]) for action in actions]
        case "batch_write_item":
            requests = (entry for some in parameters["RequestItems"].values() for entry in some)
            return [_key(entry["DeleteRequest"]["Key"]) for entry in requests]
    return []


class StaleKeys:
    """The keys to refresh through the cluster. Any thread may use it."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._lock = Lock()
        self._keys: dict[Key, None] = {}
        self._refreshing = False

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, keys: Iterable[Key]) -> None:
        """Add keys that will be, or may have been, written past the cluster."""
        with self._lock:
            for key in keys:
                self._keys.pop(key, None)
                self._keys[key] = None
            for key in list(self._keys)[: max(0, len(self._keys) - MOST_KEYS)]:
                del self._keys[key]

    def refresh(self, in_background: Callable[[Callable[[Any], None]], None]) -> None:
        """Start refreshing them, unless there is nothing to refresh or a task is at it already."""
        with self._lock:
            if not self._keys or self._refreshing:
                return
            self._refreshing = True
        in_background(self._refresh_all)

    def stop(self) -> None:
        """Drop the keys that are left, so that closing does not wait for them (rule 5)."""
        with self._lock:
            self._keys.clear()

    def _refresh_all(self, client: Any) -> None:
        try:
            while (key := self._next()) is not None:
                self._refresh_one(client, key)
        finally:
            with self._lock:
                self._refreshing = False

    def _next(self) -> Key | None:
        with self._lock:
            key = next(iter(self._keys), None)
            if key is not None:
                del self._keys[key]
            return key

    def _refresh_one(self, client: Any, key: Key) -> None:
        request = {"TableName": self._table, "Key": key_attributes(key)}
        try:
            # Neither changes anything (rule 3): the one rewrites an existing item, the other deletes an absent one.
            try:
                there = "attribute_exists(pk)"
                client.update_item(**request, UpdateExpression="SET version = version", ConditionExpression=there)
            except Exception as error:  # see Cluster.ask
                if code_of(error) != "ConditionalCheckFailedException":
                    raise
                client.delete_item(**request, ConditionExpression="attribute_not_exists(pk)")
        except Exception as error:
            if not is_answer(error):
                self.add([key])
                raise


def _key(attributes: Mapping[str, Any]) -> Key:
    return Key(attributes["pk"]["S"], attributes["sk"]["S"])
