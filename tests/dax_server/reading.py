"""Reads: from the item cache, from the query cache, or, when they have to be consistent, from the table alone."""

import json
from typing import Any

from tests.dax_server import replies
from tests.dax_server.attributes import Item, to_json
from tests.dax_server.calls import Call, Option
from tests.dax_server.cbor import Reader, array, encoded, header, mapping
from tests.dax_server.cluster import UNKNOWN, Shared
from tests.dax_server.expressions import Expressions

_CAPACITY = ("NONE", "TOTAL", "INDEXES")
_SELECT = {1: "ALL_ATTRIBUTES", 2: "ALL_PROJECTED_ATTRIBUTES", 3: "COUNT"}
_AS_THEY_ARE = {Option.LIMIT: "Limit", Option.SEGMENT: "Segment", Option.SEGMENTS: "TotalSegments"}
_ARRAY = 4


def capacity_wanted(options: dict[int, Any]) -> dict[str, str]:
    """Return how much the table is asked to tell about what a request costs."""
    wanted = options.get(Option.CAPACITY, 0)
    return {"ReturnConsumedCapacity": _CAPACITY[wanted]} if wanted else {}


class Reading:
    """What one node does for a client that reads."""

    def __init__(self, shared: Shared, node: int) -> None:
        self._shared = shared
        self._node = node

    def get_item(self, call: Call) -> bytes:
        name, key, options = call.arguments[0].decode(), call.arguments[1], call.options
        if options.get(Option.CONSISTENT):
            self._shared.counts["passed"] += 1
            item, consumed = self._from_table(name, key, options, ConsistentRead=True)
        else:
            item, consumed = self._item(name, key, options)
        return replies.parts(
            item=None if item is None else self._shown(name, item, options.get(Option.PROJECTION)),
            capacity=replies.capacity(consumed),
        )

    def batch_get_item(self, call: Call) -> bytes:
        found: dict[str, list[Item]] = {}
        asked: dict[str, Any] = {}
        for name, (consistent, _, keys) in call.arguments[0].items():
            cached = {} if consistent else self._cached(name, keys)
            found[name] = [item for item in cached.values() if item is not None]
            missing = [self._key(name, key) for key in keys if key not in cached]
            if missing:
                asked[name] = {"Keys": missing, "ConsistentRead": bool(consistent)}
        answer = self._ask_for_many(asked, call) if asked else {}
        for name, items in answer.get("Responses", {}).items():
            found[name] += items
        shown = ((encoded(name), self._many(name, items, call.arguments[0][name][1])) for name, items in found.items())
        left = answer.get("UnprocessedKeys", {}).items()
        unprocessed = (
            (encoded(name), encoded([self._bytes(name, key) for key in some["Keys"]])) for name, some in left
        )
        costs = array(replies.capacity(one) for one in answer.get("ConsumedCapacity", ()))
        return header(_ARRAY, 2) + mapping(shown) + mapping(unprocessed) + costs

    def transact_get_items(self, call: Call) -> bytes:
        tables, keys, projections, _ = call.arguments
        names = [name.decode() for name in tables]
        gets = [
            {"Get": {"TableName": name, "Key": self._key(name, key)}} for name, key in zip(names, keys, strict=True)
        ]
        self._shared.counts["passed"] += 1
        request = {"TransactItems": gets, **capacity_wanted(call.options)}
        answer = self._shared.table.call("TransactGetItems", request)
        wanted = projections or [None] * len(names)
        shown = [
            self._shown(name, one["Item"], projection) if "Item" in one else replies.NOTHING
            for name, one, projection in zip(names, answer["Responses"], wanted, strict=True)
        ]
        return header(_ARRAY, 2) + array(shown) + replies.transaction_capacity(answer.get("ConsumedCapacity", ()))

    def query(self, call: Call) -> bytes:
        name, condition, _ = call.arguments
        expressions = Expressions()
        parts = {} if condition is None else {"KeyConditionExpression": expressions.condition(condition)}
        return self._pages("Query", name.decode(), parts, expressions, call.options)

    def scan(self, call: Call) -> bytes:
        return self._pages("Scan", call.arguments[0].decode(), {}, Expressions(), call.options)

    def _pages(
        self, operation: str, name: str, parts: dict[str, Any], expressions: Expressions, options: dict[int, Any]
    ) -> bytes:
        request = {"TableName": name, **parts, **self._narrowed(name, expressions, options), **expressions.parameters()}
        answer, cost = self._result(operation, request, options)
        shown = [self._listed(name, item, options.get(Option.PROJECTION)) for item in answer.get("Items", ())]
        last = answer.get("LastEvaluatedKey")
        at = replies.place_in_index if Option.INDEX in options else lambda key: encoded(self._bytes(name, key))
        return replies.parts(
            items=array(shown) if "Items" in answer else None,
            count=encoded(answer["Count"]),
            scanned=encoded(answer["ScannedCount"]),
            last_key=None if last is None else at(last),
            capacity=replies.capacity(cost),
        )

    def _narrowed(self, name: str, expressions: Expressions, options: dict[int, Any]) -> dict[str, Any]:
        """Return the options as DynamoDB has them. What is wanted of an item is cut out here: see the README."""
        given = {word: options[option] for option, word in _AS_THEY_ARE.items() if option in options}
        if Option.INDEX in options:
            given["IndexName"] = options[Option.INDEX].decode()
        if Option.FORWARD in options:
            given["ScanIndexForward"] = bool(options[Option.FORWARD])
        if options.get(Option.SELECT) in _SELECT:
            given["Select"] = _SELECT[options[Option.SELECT]]
        if Option.FILTER in options:
            given["FilterExpression"] = expressions.condition(options[Option.FILTER])
        if Option.START_KEY in options:
            given["ExclusiveStartKey"] = self._start_key(name, options)
        return given

    def _start_key(self, name: str, options: dict[int, Any]) -> Item:
        data = options[Option.START_KEY]
        if Option.INDEX not in options:
            return self._key(name, data)
        return {part: to_json(value) for part, value in Reader(data).value().items()}

    def _result(
        self, operation: str, request: dict[str, Any], options: dict[int, Any]
    ) -> tuple[dict[str, Any], dict[str, Any] | None]:
        cost = capacity_wanted(options)
        if options.get(Option.CONSISTENT):
            self._shared.counts["passed"] += 1
            answer = self._shared.table.call(operation, {**request, **cost, "ConsistentRead": True})
            return answer, answer.get("ConsumedCapacity")
        key = operation, json.dumps(request, sort_keys=True)
        entry = self._shared.caches[self._node].queries.get(key, self._shared.clock())
        if entry is not None:
            self._shared.counts["query.hits"] += 1
            return entry.content, None
        self._shared.counts["query.misses"] += 1
        answer = self._shared.table.call(operation, {**request, **cost})
        self._shared.result_learned(self._node, key, answer)
        return answer, answer.get("ConsumedCapacity")

    def _item(self, name: str, key: bytes, options: dict[int, Any]) -> tuple[Item | None, dict[str, Any] | None]:
        cached = self._cached(name, [key])
        if key in cached:
            return cached[key], None
        with self._shared.holding([(name, key)]):
            item, consumed = self._from_table(name, key, options)
            self._shared.item_learned(self._node, (name, key), item)
        return item, consumed

    def _cached(self, name: str, keys: list[bytes]) -> dict[bytes, Item | None]:
        """Return what the item cache has of these, where there is nothing too, and count it."""
        now, found = self._shared.clock(), {}
        for key in keys:
            entry = self._shared.caches[self._node].items.get((name, key), now)
            if entry is not None and entry.content is not UNKNOWN:
                found[key] = entry.content
        self._shared.counts["item.hits"] += len(found)
        self._shared.counts["item.misses"] += len(keys) - len(found)
        return found

    def _from_table(
        self, name: str, key: bytes, options: dict[int, Any], **more: Any
    ) -> tuple[Item | None, dict[str, Any] | None]:
        request = {"TableName": name, "Key": self._key(name, key), **capacity_wanted(options), **more}
        answer = self._shared.table.call("GetItem", request)
        return answer.get("Item"), answer.get("ConsumedCapacity")

    def _ask_for_many(self, asked: dict[str, Any], call: Call) -> dict[str, Any]:
        keys = {name: [self._bytes(name, key) for key in some["Keys"]] for name, some in asked.items()}
        with self._shared.holding([(name, key) for name, some in keys.items() for key in some]):
            request = {"RequestItems": asked, **capacity_wanted(call.options)}
            answer = self._shared.table.call("BatchGetItem", request)
            for name, wanted in asked.items():
                if wanted["ConsistentRead"]:
                    continue
                found = {self._bytes(name, item): item for item in answer["Responses"].get(name, ())}
                left = answer.get("UnprocessedKeys", {}).get(name, {}).get("Keys", ())
                unread = {self._bytes(name, key) for key in left}
                for key in keys[name]:
                    if key not in unread:
                        self._shared.item_learned(self._node, (name, key), found.get(key))
        return answer

    def _many(self, name: str, items: list[Item], projection: bytes | None) -> bytes:
        if projection is not None:
            return array(replies.projected_item(item, projection) for item in items)
        pairs = ((encoded(self._bytes(name, item)), self._shown(name, item, None)) for item in items)
        return array(part for pair in pairs for part in pair)

    def _shown(self, name: str, item: Item, projection: bytes | None) -> bytes:
        if projection is not None:
            return replies.projected_item(item, projection)
        return replies.stored_item(item, self._shared.table.schema(name), self._shared.lists.number)

    def _listed(self, name: str, item: Item, projection: bytes | None) -> bytes:
        if projection is not None:
            return replies.projected_item(item, projection)
        return replies.whole_item(item, self._shared.table.schema(name), self._shared.lists.number)

    def _key(self, name: str, key: bytes) -> Item:
        return self._shared.table.schema(name).from_bytes(key)

    def _bytes(self, name: str, item: Item) -> bytes:
        return self._shared.table.schema(name).to_bytes(item)
