"""Items of the table: keys, bodies and writes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias, cast

from mcp_memory_server.errors import InvalidRequestError, TooLargeError

MAX_PARTITION_KEY_BYTES = 2048
MAX_SORT_KEY_BYTES = 1024
MAX_ITEM_BYTES = 400 * 1024
"""DynamoDB's limit. SQLite keeps it too, so that every memory can be moved between the two."""
MAX_WRITES_AT_ONCE = 10
"""The limit of the strictest engine, DynamoDB local; the service itself takes more."""
MAX_OPERATION_ID_BYTES = 128
MAX_NAME_BYTES = 255
REMEMBERED_OPERATIONS = 4
"""The number of operation ids that a row keeps. A put starts anew; updates add to them."""

PUSHED_KEPT = 8
"""The number of values that a pushed attribute keeps, newest first."""

RESERVED_ATTRIBUTES = frozenset({"pk", "sk", "version", "expires_at", "op", "op1", "op2", "op3"})

INDEX_PARTITION, INDEX_SORT = "ix_pk", "ix_sk"
"""Attributes of a body that put its item into the index."""

Value: TypeAlias = "str | int | float | bool | bytes | Sequence[Value] | Mapping[str, Value] | None"
Body: TypeAlias = Mapping[str, Value]

_MAX_NUMBER_DIGITS = 38
_LARGEST_NUMBER = 9.99e125
_SMALLEST_NUMBER = 1e-130
_BOOKKEEPING_BYTES = 700  # version, expiry and operation ids, beside the body
_MAX_DEPTH = 30


@dataclass(frozen=True, order=True)
class Key:
    """The key of an item: its partition, and its place in the order of the partition."""

    pk: str
    sk: str

    def __post_init__(self) -> None:
        # Keys are made by the thousand: those in ASCII, whose length is that of their bytes, are checked here.
        if not (0 < len(self.pk) <= MAX_PARTITION_KEY_BYTES and self.pk.isascii()):
            _check_length("pk", self.pk, MAX_PARTITION_KEY_BYTES)
        if not (0 < len(self.sk) <= MAX_SORT_KEY_BYTES and self.sk.isascii()):
            _check_length("sk", self.sk, MAX_SORT_KEY_BYTES)


@dataclass(frozen=True)
class Item:
    """An item as it was read. The version rises by one with every write."""

    key: Key
    body: Mapping[str, Value]
    version: int
    expires_at: datetime | None = None
    operation_id: str | None = None


@dataclass(frozen=True)
class Page:
    """Some items of a partition, in order. ``cursor`` is None at the end of the result."""

    items: tuple[Item, ...]
    cursor: str | None = None


@dataclass(frozen=True)
class KeyPage:
    """Some keys from an index, in order. ``cursor`` is None at the end of the result."""

    keys: tuple[Key, ...]
    cursor: str | None = None


@dataclass(frozen=True)
class Put:
    """Replace the whole item. ``expected_version=0`` means "only if absent", None means "whatever is there"."""

    key: Key
    body: Body
    expected_version: int | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True)
class Delete:
    """Remove the item. Without an expected version, removing an absent item is no error."""

    key: Key
    expected_version: int | None = None


@dataclass(frozen=True)
class Update:
    """Change attributes without reading first. A missing item is created; a counter starts at 0.

    A pushed value is stored under its name, and the values pushed before it move to ``pushed_name(name, 1)`` and so on;
    the oldest is dropped. The item keeps its expiry unless ``expires_at`` is given.
    """

    key: Key
    add: Mapping[str, int | float] = field(default_factory=dict[str, int | float])
    set: Mapping[str, Value] = field(default_factory=dict[str, Value])
    remove: tuple[str, ...] = ()
    expected_version: int | None = None
    expires_at: datetime | None = None
    push: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        pushed = [f"{name}.{place}" for name in self.push for place in range(1, PUSHED_KEPT)]
        names = [*self.add, *self.set, *self.remove, *self.push, *pushed]
        if not names:
            raise InvalidRequestError("an update must add to, set, push or remove at least one attribute")
        if len(set_of := frozenset(names)) != len(names):
            raise InvalidRequestError(f"an update names {sorted(set_of)!r}, at least one of them twice")


Write: TypeAlias = Put | Delete | Update


def pushed_name(name: str, place: int) -> str:
    """Return the attribute of the value that was pushed this many pushes ago."""
    return f"{name}.{place}" if place else name


def pushed(body: Body, name: str) -> list[str]:
    """Return the values that were pushed under a name, newest first."""
    values = (body.get(pushed_name(name, place)) for place in range(PUSHED_KEPT))
    return [value for value in values if isinstance(value, str)]


def after_push(body: Body, push: Mapping[str, str]) -> dict[str, Value]:
    """Return the attributes that a push sets, given the stored body."""
    moved = {
        pushed_name(name, place): body.get(pushed_name(name, place - 1))
        for name in push
        for place in range(1, PUSHED_KEPT)
    }
    return {**moved, **push}


def checked_body(key: Key, body: Body) -> dict[str, Value]:
    """Return the body in its stored form: whole floats become ints, tuples become lists.

    Raises:
        InvalidRequestError: It holds something that the table cannot keep.
        TooLargeError: The item would be over the table's limit.
    """
    _check_names(body)
    if INDEX_PARTITION in body or INDEX_SORT in body:
        _check_index(body)
    stored: dict[str, Value] = {}
    for name, value in body.items():
        is_plain = type(value) is str and value.isascii()
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
        InvalidRequestError: It holds something that the table cannot keep.
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
    )


def _checked_pushes(update: Update) -> dict[str, str]:
    for name, value in (checked_body(update.key, update.push) if update.push else {}).items():
        if not isinstance(value, str):
            raise InvalidRequestError(f"only text can be pushed, attribute {name!r} got {type(value).__name__}")
    return dict(update.push)


def checked_put(put: Put) -> Put:
    """Return the put with its values in their stored form; raises as `checked_body` does."""
    return Put(put.key, checked_body(put.key, put.body), put.expected_version, put.expires_at)


def checked_writes(writes: Sequence[Write]) -> list[Write]:
    """Return the writes with their values in their stored form.

    Raises:
        InvalidRequestError: There are none, too many, or two for the same item; or the table cannot keep one.
        TooLargeError: One is over the table's limit.
    """
    if not 1 <= len(writes) <= MAX_WRITES_AT_ONCE:
        raise InvalidRequestError(f"1 to {MAX_WRITES_AT_ONCE} writes can be made at once, got {len(writes)}")
    if len({write.key for write in writes}) != len(writes):
        raise InvalidRequestError("two of the writes are for the same item")
    return [_checked_write(write) for write in writes]


def check_operation_id(operation_id: str | None) -> None:
    """Refuse an operation id that is empty or too long to be kept with the row."""
    if operation_id is not None and not 0 < byte_length("operation_id", operation_id) <= MAX_OPERATION_ID_BYTES:
        raise InvalidRequestError(f"operation_id must be 1 to {MAX_OPERATION_ID_BYTES} bytes long")


def item_size(key: Key, body: Mapping[str, Value]) -> int:
    """Return the size that counts against the limit, as DynamoDB counts it, rounded up."""
    size = len(key.pk.encode()) + len(key.sk.encode()) + 4 + _BOOKKEEPING_BYTES
    for name, value in body.items():
        size += len(name.encode()) + (len(value.encode()) if isinstance(value, str) else _size(value))
    return size


def expiry_seconds(expires_at: datetime | None) -> int | None:
    """Return the expiry in whole Unix seconds, rounded down: an item may go early by a fraction, never late."""
    return None if expires_at is None else math.floor(expires_at.timestamp())


def is_expired(expires_at_seconds: int | None, now: datetime) -> bool:
    """Check whether an item with this expiry is expired at this moment."""
    return expires_at_seconds is not None and now.timestamp() >= expires_at_seconds


def after_prefix(prefix: str) -> str | None:
    """Return the smallest text that sorts after everything that starts with the prefix, None if there is none."""
    for end in range(len(prefix), 0, -1):
        following = ord(prefix[end - 1]) + 1
        if following == 0xD800:
            following = 0xE000
        if following <= 0x10FFFF:
            return prefix[: end - 1] + chr(following)
    return None


def _check_length(name: str, value: str, limit: int) -> None:
    length = byte_length(name, value)
    if not 0 < length <= limit:
        raise InvalidRequestError(f"{name} must be 1 to {limit} bytes long, got {length}")


def byte_length(name: str, text: str) -> int:
    """Return the length in UTF-8.

    Raises:
        InvalidRequestError: The text holds a lone surrogate, which no engine can store.
    """
    try:
        return len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidRequestError(
            f"{name} is not valid Unicode: it holds a lone surrogate at position {error.start}"
        ) from None


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
