"""Writes: through to the table first, then into the item cache. No write changes the query cache."""

from typing import Any

from tests.dax_server import replies
from tests.dax_server.attributes import Item, to_json
from tests.dax_server.calls import Call, Option
from tests.dax_server.cbor import Reader, array, encoded, header, mapping
from tests.dax_server.cluster import UNKNOWN, Shared
from tests.dax_server.expressions import Expressions
from tests.dax_server.reading import capacity_wanted
from tests.dax_server.table import TableError

_RETURN = ("", "NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW")
_PUT, _DELETE, _UPDATE, _CHECK = 2, 7, 9, 12
_ALL_OLD = 2
_ARRAY = 4


class Writing:
    """What one node does for a client that writes."""

    def __init__(self, shared: Shared, node: int) -> None:
        self._shared = shared
        self._node = node

    def put_item(self, call: Call) -> bytes:
        name, key, values, options = call.arguments[0].decode(), *call.arguments[1:3], call.options
        item = self._item(name, key, values)
        with self._shared.holding([(name, key)]):
            answer = self._shared.table.call("PutItem", {"TableName": name, "Item": item, **_conditions(options)})
            self._shared.item_learned(self._node, (name, key), item)
        return self._answered(name, answer, options)

    def update_item(self, call: Call) -> bytes:
        name, key, options = call.arguments[0].decode(), call.arguments[1], call.options
        request = {"TableName": name, "Key": self._key(name, key), **_conditions(options)}
        wanted = request.get("ReturnValues", "NONE")
        with self._shared.holding([(name, key)]):
            if wanted in ("NONE", "ALL_NEW"):
                answer = self._shared.table.call("UpdateItem", {**request, "ReturnValues": "ALL_NEW"})
                item = answer["Attributes"]
            else:
                answer = self._shared.table.call("UpdateItem", request)
                read = {"TableName": name, "Key": self._key(name, key), "ConsistentRead": True}
                item = self._shared.table.call("GetItem", read).get("Item")
            self._shared.item_learned(self._node, (name, key), item)
        if wanted == "NONE":
            answer = {part: value for part, value in answer.items() if part != "Attributes"}
        return self._answered(name, answer, options)

    def delete_item(self, call: Call) -> bytes:
        name, key, options = call.arguments[0].decode(), call.arguments[1], call.options
        with self._shared.holding([(name, key)]):
            request = {"TableName": name, "Key": self._key(name, key), **_conditions(options)}
            answer = self._shared.table.call("DeleteItem", request)
            self._shared.item_learned(self._node, (name, key), None)
        return self._answered(name, answer, options)

    def batch_write_item(self, call: Call) -> bytes:
        writes = {name: list(zip(pairs[::2], pairs[1::2], strict=True)) for name, pairs in call.arguments[0].items()}
        asked = {name: [self._batched(name, key, values) for key, values in some] for name, some in writes.items()}
        with self._shared.holding([(name, key) for name, some in writes.items() for key, _ in some]):
            request = {"RequestItems": asked, **capacity_wanted(call.options)}
            answer = self._shared.table.call("BatchWriteItem", request)
            left = {name: self._unwritten(name, some) for name, some in answer.get("UnprocessedItems", {}).items()}
            for name, some in writes.items():
                for key, values in some:
                    if key not in left.get(name, {}):
                        item = None if values is None else self._item(name, key, values)
                        self._shared.item_learned(self._node, (name, key), item)
        unprocessed = ((encoded(name), self._left(name, some)) for name, some in left.items() if some)
        costs = array(replies.capacity(one) for one in answer.get("ConsumedCapacity", ()))
        return mapping(unprocessed) + costs + mapping(())

    def transact_write_items(self, call: Call) -> bytes:
        operations, tables, keys, values, _, on_failure, conditions, updates, _ = call.arguments
        names = [name.decode() for name in tables]
        actions = [
            self._action(*parts)
            for parts in zip(operations, names, keys, values, on_failure, conditions, updates, strict=True)
        ]
        request: dict[str, Any] = {"TransactItems": actions, **capacity_wanted(call.options)}
        if Option.TOKEN in call.options:
            request["ClientRequestToken"] = call.options[Option.TOKEN]
        places = list(zip(names, keys, strict=True))
        with self._shared.holding(places):
            answer = self._shared.table.call("TransactWriteItems", request)
            for place, item in self._as_they_are_now(places).items():
                self._shared.item_learned(self._node, place, item, in_background=True)
        costs = replies.transaction_capacity(answer.get("ConsumedCapacity", ()))
        return header(_ARRAY, 3) + replies.NOTHING + costs + mapping(())

    def _as_they_are_now(self, places: list[tuple[str, bytes]]) -> dict[tuple[str, bytes], Any]:
        """Read the items of a transaction again, as the service does; if that fails they are unknown."""
        gets = [{"Get": {"TableName": name, "Key": self._key(name, key)}} for name, key in places]
        try:
            answer = self._shared.table.call("TransactGetItems", {"TransactItems": gets})
        except TableError:
            return dict.fromkeys(places, UNKNOWN)
        return {place: one.get("Item") for place, one in zip(places, answer["Responses"], strict=True)}

    def _action(
        self,
        operation: int,
        name: str,
        key: bytes,
        values: bytes | None,
        on_failure: int,
        condition: bytes | None,
        update: bytes | None,
    ) -> dict[str, Any]:
        options = {Option.CONDITION: condition, Option.UPDATE: update}
        parts = {"TableName": name, **_conditions({option: data for option, data in options.items() if data})}
        if on_failure == _ALL_OLD:
            parts["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if operation == _PUT:
            assert values is not None
            return {"Put": {**parts, "Item": self._item(name, key, values)}}
        word = {_DELETE: "Delete", _UPDATE: "Update", _CHECK: "ConditionCheck"}[operation]
        return {word: {**parts, "Key": self._key(name, key)}}

    def _batched(self, name: str, key: bytes, values: bytes | None) -> dict[str, Any]:
        if values is None:
            return {"DeleteRequest": {"Key": self._key(name, key)}}
        return {"PutRequest": {"Item": self._item(name, key, values)}}

    def _unwritten(self, name: str, requests: list[dict[str, Any]]) -> dict[bytes, Item | None]:
        schema = self._shared.table.schema(name)
        puts = (request["PutRequest"]["Item"] for request in requests if "PutRequest" in request)
        deletes = (request["DeleteRequest"]["Key"] for request in requests if "DeleteRequest" in request)
        return {schema.to_bytes(item): item for item in puts} | {schema.to_bytes(key): None for key in deletes}

    def _left(self, name: str, unwritten: dict[bytes, Item | None]) -> bytes:
        schema, number = self._shared.table.schema(name), self._shared.lists.number
        pairs = (
            (encoded(key), replies.NOTHING if item is None else replies.stored_item(item, schema, number))
            for key, item in unwritten.items()
        )
        return array(part for pair in pairs for part in pair)

    def _answered(self, name: str, answer: dict[str, Any], options: dict[int, Any]) -> bytes:
        schema, number = self._shared.table.schema(name), self._shared.lists.number
        changed = answer.get("Attributes")
        shown = None
        if changed and _RETURN[options.get(Option.RETURN_VALUES, 1)].startswith("UPDATED"):
            shown = replies.some_of_item(changed, changed, schema, number)
        elif changed:
            shown = replies.stored_item(changed, schema, number)
        return replies.parts(attributes=shown, capacity=replies.capacity(answer.get("ConsumedCapacity")))

    def _item(self, name: str, key: bytes, values: bytes) -> Item:
        reader = Reader(values)
        names = self._shared.lists.names(reader.value())
        return {**self._key(name, key), **{attribute: to_json(reader.value()) for attribute in names}}

    def _key(self, name: str, key: bytes) -> Item:
        return self._shared.table.schema(name).from_bytes(key)


def _conditions(options: dict[int, Any]) -> dict[str, Any]:
    expressions, request = Expressions(), capacity_wanted(options)
    if Option.CONDITION in options:
        request["ConditionExpression"] = expressions.condition(options[Option.CONDITION])
    if Option.UPDATE in options:
        request["UpdateExpression"] = expressions.update(options[Option.UPDATE])
    if Option.RETURN_VALUES in options:
        request["ReturnValues"] = _RETURN[options[Option.RETURN_VALUES]]
    return {**request, **expressions.parameters()}
