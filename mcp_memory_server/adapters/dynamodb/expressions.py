"""The parts of requests, built from plain values: keys, conditions, writes and queries in DynamoDB's language.

A write's parts are the same alone and within a transaction.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from mcp_memory_server.adapters.dynamodb.values import OPERATIONS, Attribute, Row, to_attribute, to_attributes
from mcp_memory_server.domain.kernel.index_cursors import IndexPlace
from mcp_memory_server.domain.kernel.item_checks import RESERVED_ATTRIBUTES, checked_body
from mcp_memory_server.domain.kernel.items import (
    PUSHED_KEPT,
    Body,
    Delete,
    Key,
    Put,
    Update,
    after_push,
    expiry_seconds,
    pushed_name,
)
from mcp_memory_server.errors import InvalidRequestError

Parameters: TypeAlias = dict[str, Any]
Values: TypeAlias = dict[str, Attribute]

INDEX = "by_index"
BOOKKEEPING = "pk, sk, version, expires_at, op, op1, op2, op3"

_ABSENT = "(attribute_not_exists(pk) OR expires_at <= :now)"
_LIVE = "(attribute_not_exists(expires_at) OR expires_at > :now)"
_AT_MOST = "(attribute_not_exists(version) OR version <= :most)"
_NOT_REPEATED = f"NOT ({' OR '.join(f'{name} = :op' for name in OPERATIONS)})"
_NEXT_VERSION = "version = if_not_exists(version, :zero) + :one"
# The right side of a SET reads the values before the update, so each id moves by one place.
_SHIFTED_OPERATIONS = (
    "op3 = if_not_exists(op2, :none), op2 = if_not_exists(op1, :none), op1 = if_not_exists(op, :none), op = :op"
)


@dataclass(frozen=True)
class SortKeys:
    """The sort keys that a query asks for: those with a prefix, or those between two inclusive bounds."""

    prefix: str = ""
    between: tuple[str, str] | None = None

    def __contains__(self, sk: str) -> bool:
        first, last = self.between or (self.prefix, sk)
        return first <= sk <= last and sk.startswith(self.prefix)

    def is_empty(self) -> bool:
        """Return whether no key can lie in it; DynamoDB rejects such a query."""
        return self.between is not None and (self.between[0] > self.between[1] or not self.between[1])

    def is_before(self, sk: str) -> bool:
        """Return whether the key sorts after the whole range."""
        return sk > (self.between[1] if self.between else self.prefix)


def key_attributes(key: Key) -> Values:
    """Return the key as a request names it."""
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def put_parts(write: Put, expected_version: int, operation: str, now: datetime) -> Parameters:
    """Return the write of a whole item over the expected version, 0 for "only if absent"."""
    return {
        "Item": _new_item(write.key, write.body, expected_version + 1, write.expires_at, operation),
        **_condition(expected_version, operation, now),
    }


def fresh_parts(write: Update, operation: str, now: datetime) -> Parameters:
    """Return the write of the item that the update creates where it is absent or has expired."""
    return put_parts(Put(write.key, fresh_body(write), expires_at=write.expires_at), 0, operation, now)


def fresh_body(write: Update) -> dict[str, Any]:
    """Return the body that the update creates where there is no item."""
    return checked_body(write.key, {**write.set, **write.add, **after_push({}, write.push)})


def update_parts(write: Update, operation: str, now: datetime, *, at_most: int | None = None) -> Parameters:
    """Return the update of a live or absent item, which DynamoDB refuses if it has happened before.

    With ``at_most`` it is also refused where the item has a higher version by now.
    """
    pushed = [pushed_name(name, place) for name in write.push for place in range(PUSHED_KEPT)]
    changes = {f"#{number}": name for number, name in enumerate([*write.set, *write.add, *write.remove, *pushed])}
    at = {name: placeholder for placeholder, name in changes.items()}
    given = {**write.set, **write.add, **write.push}
    values = {f":{at[name][1:]}": to_attribute(value) for name, value in given.items()}
    sets = [
        _NEXT_VERSION,
        _SHIFTED_OPERATIONS,
        *(f"{at[name]} = :{at[name][1:]}" for name in (*write.set, *write.push)),
    ]
    sets += [f"{at[name]} = if_not_exists({at[before]}, :none)" for before, name in _moved(write.push)]
    if write.expires_at is not None:
        sets.append("expires_at = :expires_at")
        values[":expires_at"] = to_attribute(expiry_seconds(write.expires_at))
    clauses = [
        ("SET", sets),
        ("ADD", [f"{at[name]} :{at[name][1:]}" for name in write.add]),
        ("REMOVE", [at[name] for name in write.remove]),
    ]
    values |= {":zero": {"N": "0"}, ":one": {"N": "1"}, ":none": {"NULL": True}}
    condition = _update_condition(write.expected_version, operation, now)
    if at_most is not None and write.expected_version is None:
        condition["ConditionExpression"] += f" AND {_AT_MOST}"
        values[":most"] = to_attribute(at_most)
    return {
        "Key": key_attributes(write.key),
        "UpdateExpression": " ".join(f"{word} {', '.join(parts)}" for word, parts in clauses if parts),
        "ConditionExpression": condition["ConditionExpression"],
        "ExpressionAttributeNames": changes,
        "ExpressionAttributeValues": values | condition["ExpressionAttributeValues"],
    }


def _moved(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return how the values of a list move to make room for a new first one."""
    places = range(1, PUSHED_KEPT)
    return [(pushed_name(name, place - 1), pushed_name(name, place)) for name in names for place in places]


def delete_parts(write: Delete, now: datetime) -> Parameters:
    """Return the deletion of an item, of any version or of the expected one only."""
    key = {"Key": key_attributes(write.key)}
    if write.expected_version is None:
        return key
    if write.expected_version == 0:
        return {**key, "ConditionExpression": _ABSENT, "ExpressionAttributeValues": _moment(now)}
    return {
        **key,
        "ConditionExpression": f"version = :expected AND {_LIVE}",
        "ExpressionAttributeValues": {":expected": to_attribute(write.expected_version), **_moment(now)},
    }


def delete_row_parts(row: Row) -> Parameters:
    """Return the deletion of exactly this row: not of a later one, even with the same version."""
    values: Values = {":version": to_attribute(row.version)}
    condition = "version = :version"
    if row.operations[0] is not None:
        values[":op"] = {"S": row.operations[0]}
        condition += " AND op = :op"
    return {
        "Key": key_attributes(row.key),
        "ConditionExpression": condition,
        "ExpressionAttributeValues": values,
    }


def query_parts(pk: str, keys: SortKeys, attributes: Collection[str] | None) -> Parameters:
    """Return a query for this part of a partition.

    Raises:
        InvalidRequestError: No item can have such keys.
    """
    first, last = keys.between or (keys.prefix, "")
    for sk in (first, last):
        Key(pk, sk or "-")
    values: Values = {":pk": {"S": pk}}
    condition = "pk = :pk"
    if keys.between:
        condition += " AND sk BETWEEN :first AND :last" if first else " AND sk <= :last"
        values |= {":last": {"S": last}} | ({":first": {"S": first}} if first else {})
    elif keys.prefix:
        condition += " AND begins_with(sk, :first)"
        values[":first"] = {"S": first}
    return {"KeyConditionExpression": condition, "ExpressionAttributeValues": values, **projection(attributes)}


def find_parts(index_pk: str, prefix: str, after: IndexPlace | None) -> Parameters:
    """Return a query for entries of the index."""
    condition, values = "ix_pk = :pk", {":pk": {"S": index_pk}}
    if prefix:
        condition += " AND begins_with(ix_sk, :first)"
        values[":first"] = {"S": prefix}
    start = {}
    if after is not None:
        place = {"ix_pk": {"S": index_pk}, "ix_sk": {"S": after.index_sk}, **key_attributes(after.key)}
        start = {"ExclusiveStartKey": place}
    return {"IndexName": INDEX, "KeyConditionExpression": condition, "ExpressionAttributeValues": values, **start}


def list_parts(after: Key | None, limit: int) -> Parameters:
    """Return a scan for keys, with the expiry of each item."""
    start = {} if after is None else {"ExclusiveStartKey": key_attributes(after)}
    return {"ProjectionExpression": "pk, sk, expires_at", "Limit": limit, "ConsistentRead": True, **start}


def check_query(limit: int | None, keys: SortKeys) -> None:
    """Raise for a query that no engine can answer."""
    if limit is not None and limit < 1:
        raise InvalidRequestError(f"limit must be at least 1, got {limit}")
    if keys.prefix and keys.between:
        raise InvalidRequestError("give either a prefix or a range, not both")


def _new_item(
    key: Key, body: Body, version: int, expires_at: datetime | None, operation: str
) -> Mapping[str, Attribute]:
    item = {**key_attributes(key), **to_attributes(body), "version": to_attribute(version), "op": {"S": operation}}
    if expires_at is not None:
        item["expires_at"] = to_attribute(expiry_seconds(expires_at))
    return item


def _condition(expected_version: int, operation: str, now: datetime) -> Parameters:
    if expected_version == 0:
        return {"ConditionExpression": _ABSENT, "ExpressionAttributeValues": _moment(now)}
    return {
        "ConditionExpression": f"version = :expected AND {_LIVE} AND {_NOT_REPEATED}",
        "ExpressionAttributeValues": {
            ":expected": to_attribute(expected_version),
            ":op": {"S": operation},
            **_moment(now),
        },
    }


def _update_condition(expected_version: int | None, operation: str, now: datetime) -> Parameters:
    if expected_version:
        return _condition(expected_version, operation, now)
    absent = "attribute_not_exists(pk) AND " if expected_version == 0 else ""
    return {
        "ConditionExpression": f"{absent}{_LIVE} AND {_NOT_REPEATED}",
        "ExpressionAttributeValues": {":op": {"S": operation}, **_moment(now)},
    }


def _moment(now: datetime) -> Values:
    return {":now": to_attribute(expiry_seconds(now))}


def projection(attributes: Collection[str] | None) -> Parameters:
    """Return the projection to these attributes and those that are always read; nothing for whole items."""
    if attributes is None:
        return {}
    wanted = [name for name in dict.fromkeys(attributes) if name not in RESERVED_ATTRIBUTES]
    names = {f"#{number}": name for number, name in enumerate(wanted)}
    expression = {"ProjectionExpression": ", ".join([BOOKKEEPING, *names])}
    return {**expression, "ExpressionAttributeNames": names} if names else expression
