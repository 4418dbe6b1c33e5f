"""Replies: what a client is sent, in the forms that it expects."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

from tests.dax_server.attributes import Item, from_json
from tests.dax_server.cbor import array, encoded, mapping
from tests.dax_server.expressions import looked_up, paths_of
from tests.dax_server.keys import KeySchema
from tests.dax_server.table import TableError

SUCCESS = encoded([])
NOTHING = encoded(None)

ITEM, CAPACITY, ATTRIBUTES, _, _, _, _, ITEMS, COUNT, LAST_KEY, SCANNED = range(11)
"""The parts of a reply, by their numbers in the protocol."""

_ERRORS = {
    "ProvisionedThroughputExceededException": 40,
    "ResourceNotFoundException": 41,
    "ConditionalCheckFailedException": 43,
    "ResourceInUseException": 45,
    "ValidationException": 46,
    "InternalServerError": 47,
    "ItemCollectionSizeLimitExceededException": 48,
    "LimitExceededException": 49,
    "ThrottlingException": 50,
    "TransactionConflictException": 57,
    "TransactionCanceledException": 58,
    "TransactionInProgressException": 59,
    "IdempotentParameterMismatchException": 60,
    "RequestLimitExceeded": 61,
}
_OF_DYNAMODB = [4, 37, 38, 39]
_NOT_ALLOWED = [4, 37, 38, 42]
_NOT_AUTHENTIC = [4, 23, 31, 33]

ListIds = Callable[[tuple[str, ...]], int]


def stored_item(item: Item, schema: KeySchema, list_id: ListIds) -> bytes:
    """Return an item without its key: the number of its list of names, then its values in their order."""
    names = tuple(sorted(item.keys() - schema.names))
    return encoded(encoded(list_id(names)) + b"".join(from_json(item[name]) for name in names))


def some_of_item(item: Item, names: Iterable[str], schema: KeySchema, list_id: ListIds) -> bytes:
    """Return some values of an item, each with its place in the list of names."""
    listed = tuple(sorted(item.keys() - schema.names))
    places = {name: place for place, name in enumerate(listed)}
    values = mapping((encoded(places[name]), from_json(item[name])) for name in names if name in places)
    return encoded(encoded(list_id(listed)) + values)


def projected_item(item: Item, projection: bytes) -> bytes:
    """Return what lies at the paths of a projection, each with its place among them."""
    found = ((place, looked_up(item, path)) for place, path in enumerate(paths_of(projection)))
    return mapping((encoded(place), from_json(value)) for place, value in found if value is not None)


def whole_item(item: Item, schema: KeySchema, list_id: ListIds) -> bytes:
    """Return an item of a query, its key first."""
    return array([encoded(schema.to_bytes(item)), stored_item(item, schema, list_id)])


def place_in_index(key: Item) -> bytes:
    """Return where a query of an index ended."""
    return encoded(mapping((encoded(name), from_json(value)) for name, value in key.items()))


def parts(**values: bytes | None) -> bytes:
    """Return a reply with those of its parts that are there."""
    numbers = {"item": ITEM, "capacity": CAPACITY, "attributes": ATTRIBUTES, "items": ITEMS, "count": COUNT}
    numbers |= {"last_key": LAST_KEY, "scanned": SCANNED}
    return mapping((encoded(numbers[name]), value) for name, value in values.items() if value is not None)


def capacity(consumed: dict[str, Any] | None) -> bytes:
    """Return what a request cost the table; nothing where a cache answered."""
    if consumed is None:
        return NOTHING
    table, *indexes = (consumed.get(name) for name in ("Table", "GlobalSecondaryIndexes", "LocalSecondaryIndexes"))
    fields = [encoded(consumed["TableName"]), encoded(_units(consumed))]
    fields.append(NOTHING if table is None else encoded(_units(table)))
    fields += [
        NOTHING if some is None else encoded({name: _units(one) for name, one in some.items()}) for some in indexes
    ]
    return encoded(b"".join(fields))


def transaction_capacity(consumed: Sequence[dict[str, Any]]) -> bytes:
    """Return what a transaction cost each table."""
    return encoded([{4: one["TableName"], 1: _units(one)} for one in consumed])


def failure(error: TableError) -> bytes:
    """Return an error of DynamoDB's as a client expects it."""
    codes = _NOT_ALLOWED if error.code == "AccessDeniedException" else [*_OF_DYNAMODB, _ERRORS.get(error.code, 46)]
    info: list[Any] = [None, error.code, error.status]
    if error.reasons:
        info.append([part for reason in error.reasons for part in (reason.get("Code"), reason.get("Message"), None)])
    return encoded(codes) + encoded(error.words) + encoded(info)


def not_authentic() -> bytes:
    """Return the refusal of a signature."""
    info = [None, "UnrecognizedClientException", 400]
    return encoded(_NOT_AUTHENTIC) + encoded("The security token included in the request is invalid.") + encoded(info)


def _units(consumed: dict[str, Any]) -> Decimal:
    return Decimal(str(consumed.get("CapacityUnits", 0)))
