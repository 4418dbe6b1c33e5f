"""Items that were written past the cluster, whose item cache does not know of it, and how it is told."""

from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Any

from mcp_memory_server.adapters.aws.failures import code_of
from mcp_memory_server.adapters.dax.cluster import is_answer
from mcp_memory_server.adapters.dynamodb.expressions import key_attributes
from mcp_memory_server.domain.kernel.items import Key

MOST_KEYS = 10_000
"""Of more than these the oldest are left to grow old in the cache."""

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
    """Remembers the keys, and refreshes them through the cluster once it is back. Any thread may use it."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._lock = Lock()
        self._keys: dict[Key, None] = {}
        self._refreshing = False

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, keys: Iterable[Key]) -> None:
        """Remember that these were, or may have been, written past the cluster."""
        with self._lock:
            for key in keys:
                self._keys.pop(key, None)
                self._keys[key] = None
            for key in list(self._keys)[: max(0, len(self._keys) - MOST_KEYS)]:
                del self._keys[key]

    def refresh(self, in_background: Callable[[Callable[[Any], None]], None]) -> None:
        """Let the cluster write them again as they are, which refreshes its item cache. One at a time does so."""
        with self._lock:
            if not self._keys or self._refreshing:
                return
            self._refreshing = True
        in_background(self._refresh_all)

    def stop(self) -> None:
        """Forget what was not refreshed, so that nobody waits for it: it grows old in the cache."""
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
            # Neither can change or remove anything: the one writes what is there, the other removes what is not.
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
