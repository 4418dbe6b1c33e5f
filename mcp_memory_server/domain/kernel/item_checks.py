"""Check bodies and writes before they reach an engine: sizes, names, and values that every engine can store."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from mcp_memory_server.domain.kernel.items import (
    INDEX_PARTITION,
    INDEX_SORT,
    MAX_ITEM_BYTES,
    MAX_WRITES_AT_ONCE,
    Body,
    Delete,
    Key,
    Put,
    Update,
    Value,
    Write,
    byte_length,
)
from mcp_memory_server.errors import InvalidRequestError, TooLargeError

MAX_NAME_BYTES = 255
MAX_OPERATION_ID_BYTES = 128
RESERVED_ATTRIBUTES = frozenset({"pk", "sk", "version", "expires_at", "op", "op1", "op2", "op3"})

_MAX_NUMBER_DIGITS = 38
_LARGEST_NUMBER = 9.99e125
_SMALLEST_NUMBER = 1e-130
_BOOKKEEPING_BYTES = 700  # version, expiry and operation ids, beside the body
_MAX_DEPTH = 30


def checked_body(key: Key, body: Body) -> dict[str, Value]:
    """Return the body in its stored form: whole floats become ints, tuples become lists.

    Raises:
        InvalidRequestError: It holds a value that the table cannot store.
        TooLargeError: The item would be over the table's limit.
    """
    _check_names(body)
    if INDEX_PARTITION in body or INDEX_SORT in body:
        _check_index(body)
    stored: dict[str, Value] = {}
    for name, value in body.items():
        is_plain = (type(value) is str and value.isascii()) or (type(value) is int and -(2**53) < value < 2**53)
        stored[name] = value if is_plain else _stored(name, value, depth=0)
    size = item_size(key, stored)
    if size > MAX_ITEM_BYTES:
        raise TooLargeError(
            f"the item would be {size:,} bytes; the limit is {MAX_ITEM_BYTES:,}. Store less, or split it"
        )
    return stored


def checked_update(update: Update) -> Update:
    """Return the update with its values in their stored form.

    Raises:
        InvalidRequestError: It holds a value that the table cannot store.
        TooLargeError: What it sets is over the table's limit by itself.
    """
    _check_names(update.remove)
    added = checked_body(update.key, update.add) if update.add else {}
    for name, amount in added.items():
        if isinstance(amount, bool) or not isinstance(amount, int | float):
            raise InvalidRequestError(f"attribute {name!r} can only be raised by a number, got {type(amount).__name__}")
    return Update(
        update.key,
        add={name: amount for name, amount in added.items() if isinstance(amount, int | float)},
        set=checked_body(update.key, update.set),
        remove=update.remove,
        push=_checked_pushes(update),
        expected_version=update.expected_version,
        expires_at=update.expires_at,
        may_start_anew=update.may_start_anew,
    )


def _checked_pushes(update: Update) -> dict[str, str]:
    for name, value in (checked_body(update.key, update.push) if update.push else {}).items():
        if not isinstance(value, str):
            raise InvalidRequestError(f"only text can be pushed, attribute {name!r} got {type(value).__name__}")
    return dict(update.push)


def checked_put(put: Put) -> Put:
    """Return the put with its values in their stored form; raise as `checked_body` does."""
    return Put(put.key, checked_body(put.key, put.body), put.expected_version, put.expires_at)


def checked_writes(writes: Sequence[Write]) -> list[Write]:
    """Return the writes with their values in their stored form.

    Raises:
        InvalidRequestError: There are none, too many, or two for the same item; or the table cannot store one.
        TooLargeError: One is over the table's limit.
    """
    if not 1 <= len(writes) <= MAX_WRITES_AT_ONCE:
        raise InvalidRequestError(f"1 to {MAX_WRITES_AT_ONCE} writes can be made at once, got {len(writes)}")
    if len({write.key for write in writes}) != len(writes):
        raise InvalidRequestError("two of the writes are for the same item")
    return [_checked_write(write) for write in writes]


def check_storable(name: str, value: object) -> None:
    """Refuse a value that no attribute can hold, before anybody is told that it was saved."""
    _stored(name, value, depth=0)


def check_cursor(pk: str, cursor: str | None) -> None:
    """Refuse what cannot be the cursor of a query: it is the sort key of an item."""
    if cursor is None:
        return
    try:
        Key(pk, cursor)
    except InvalidRequestError:
        raise InvalidRequestError("the cursor is not one of this query's; start again without it") from None


def check_operation_id(operation_id: str | None) -> None:
    """Refuse an operation id that is empty or too long to be stored with the row."""
    if operation_id is not None and not 0 < byte_length("operation_id", operation_id) <= MAX_OPERATION_ID_BYTES:
        raise InvalidRequestError(f"operation_id must be 1 to {MAX_OPERATION_ID_BYTES} bytes long")


def item_size(key: Key, body: Mapping[str, Value]) -> int:
    """Return the size that counts against the limit, as DynamoDB counts it, rounded up."""
    size = len(key.pk.encode()) + len(key.sk.encode()) + 4 + _BOOKKEEPING_BYTES
    for name, value in body.items():
        size += len(name.encode()) + (len(value.encode()) if isinstance(value, str) else _size(value))
    return size


def _checked_write(write: Write) -> Write:
    match write:
        case Put():
            return checked_put(write)
        case Update():
            return checked_update(write)
        case Delete():
            return write


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        is_short = 0 < len(name) <= MAX_NAME_BYTES and name.isascii()
        if not is_short and not 0 < byte_length("attribute name", name) <= MAX_NAME_BYTES:
            raise InvalidRequestError(f"an attribute name must be 1 to {MAX_NAME_BYTES} bytes long")
        if name in RESERVED_ATTRIBUTES:
            raise InvalidRequestError(f"attribute {name!r} belongs to the table; choose another name")


def _check_index(body: Body) -> None:
    places = [body.get(INDEX_PARTITION), body.get(INDEX_SORT)]
    if not all(isinstance(place, str) and place for place in places):
        raise InvalidRequestError(f"{INDEX_PARTITION} and {INDEX_SORT} place an item in the index: give both, as text")


def _stored(name: str, value: object, *, depth: int) -> Value:
    if depth > _MAX_DEPTH:
        raise InvalidRequestError(f"attribute {name!r} is nested more than {_MAX_DEPTH} levels deep")
    match value:
        case None | bool() | bytes():
            return value
        case str():
            byte_length(f"attribute {name!r}", value)
            return value
        case int():
            return _checked_int(name, value)
        case float():
            return _checked_float(name, value)
        case Mapping():
            entries = cast("Mapping[object, object]", value).items()
            return {_nested_name(name, key): _stored(name, entry, depth=depth + 1) for key, entry in entries}
        case list() | tuple():
            return [_stored(name, entry, depth=depth + 1) for entry in cast("Sequence[object]", value)]
        case _:
            raise InvalidRequestError(f"attribute {name!r} holds a {type(value).__name__}, which the table cannot keep")


def _nested_name(name: str, key: object) -> str:
    if not isinstance(key, str):
        raise InvalidRequestError(f"attribute {name!r} has a key that is not text: {key!r}")
    if not byte_length(f"attribute {name!r}", key):
        raise InvalidRequestError(f"attribute {name!r} has an empty key inside")
    return key


def _checked_int(name: str, value: int) -> int:
    if len(str(abs(value)).rstrip("0")) > _MAX_NUMBER_DIGITS or abs(value) > _LARGEST_NUMBER:
        raise InvalidRequestError(f"attribute {name!r} has more than {_MAX_NUMBER_DIGITS} digits")
    return value


def _checked_float(name: str, value: float) -> int | float:
    if not math.isfinite(value):
        raise InvalidRequestError(f"attribute {name!r} is {value}, which is not a number that can be stored")
    if value and not _SMALLEST_NUMBER <= abs(value) <= _LARGEST_NUMBER:
        raise InvalidRequestError(f"attribute {name!r} is outside of 1e-130 to 1e+126")
    return _checked_int(name, int(value)) if value.is_integer() and abs(value) < 2**53 else value


def _size(value: Value) -> int:
    match value:
        case str():
            return len(value.encode())
        case bytes():
            return len(value)
        case bool() | None:
            return 1
        case int() | float():
            return len(repr(value)) // 2 + 2
        case Mapping():
            return 3 + sum(1 + len(name.encode()) + _size(entry) for name, entry in value.items())
        case _:
            return 3 + sum(1 + _size(entry) for entry in value)
