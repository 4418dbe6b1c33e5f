"""Items of the table: keys, bodies and writes. What an item may hold is checked in `domain.kernel.item_checks`."""

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NoReturn, TypeAlias
from uuid import uuid4

from mcp_memory_server.errors import InvalidRequestError, TableDamagedError

MAX_PARTITION_KEY_BYTES = 2048
MAX_SORT_KEY_BYTES = 1024
MAX_ITEM_BYTES = 400 * 1024
"""DynamoDB's limit. SQLite keeps it too, so that every memory can be moved between the two."""
MAX_WRITES_AT_ONCE = 10
"""The limit of the strictest engine, DynamoDB local; the service itself takes more."""
REMEMBERED_OPERATIONS = 4
"""The number of operation ids that a row keeps. Updates add to them; a put drops them."""

PUSHED_KEPT = 8
"""The number of values that a pushed attribute keeps, newest first."""

INDEX_PARTITION, INDEX_SORT = "ix_pk", "ix_sk"
"""Attributes of a body that put its item into the index."""

Value: TypeAlias = "str | int | float | bool | bytes | Sequence[Value] | Mapping[str, Value] | None"
Body: TypeAlias = Mapping[str, Value]


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


class DamagedBody(Mapping[str, Any]):
    """The body of an item that cannot be read. Whoever looks into it gets an error, never an empty value."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __getitem__(self, name: str) -> NoReturn:
        raise TableDamagedError(self.reason)

    def __iter__(self) -> Iterator[str]:
        raise TableDamagedError(self.reason)

    def __len__(self) -> NoReturn:
        raise TableDamagedError(self.reason)

    def __contains__(self, name: object) -> NoReturn:
        raise TableDamagedError(self.reason)

    def get(self, name: str, default: Any = None) -> NoReturn:  # noqa: ARG002 - Mapping would take the error for absence
        """Raise the error."""
        raise TableDamagedError(self.reason)


@dataclass(frozen=True)
class Item:
    """An item as it was read. The version rises by one with every write.

    An item that cannot be read is returned with a `DamagedBody`, so that it costs nothing but itself. Its version is 0:
    a write that expects an absent item replaces it, and what was there is quarantined.
    """

    key: Key
    body: Mapping[str, Value]
    version: int
    expires_at: datetime | None = None
    operation_id: str | None = None

    @property
    def is_damaged(self) -> bool:
        """Whether the item cannot be read."""
        return isinstance(self.body, DamagedBody)


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

    An item that cannot be read is not updated, because counters would begin anew, unless it ``may_start_anew``.
    """

    key: Key
    add: Mapping[str, int | float] = field(default_factory=dict[str, int | float])
    set: Mapping[str, Value] = field(default_factory=dict[str, Value])
    remove: tuple[str, ...] = ()
    expected_version: int | None = None
    expires_at: datetime | None = None
    push: Mapping[str, str] = field(default_factory=dict[str, str])
    may_start_anew: bool = False

    def __post_init__(self) -> None:
        pushed = [f"{name}.{place}" for name in self.push for place in range(1, PUSHED_KEPT)]
        names = [*self.add, *self.set, *self.remove, *self.push, *pushed]
        if not names:
            raise InvalidRequestError("an update must add to, set, push or remove at least one attribute")
        if len(set_of := frozenset(names)) != len(names):
            raise InvalidRequestError(f"an update names {sorted(set_of)!r}, at least one of them twice")


Write: TypeAlias = Put | Delete | Update


QUARANTINE = "DAMAGED#"
QUARANTINED_FOR = timedelta(days=90)


def quarantine_partition(pk: str) -> str:
    """Return the partition to which unreadable items of a partition are moved."""
    return f"{QUARANTINE}{pk}"[:MAX_PARTITION_KEY_BYTES]


def quarantine_put(key: Key, raw: bytes, reason: str, now: datetime) -> Put:
    """Return the write that keeps what an unreadable item held, for 90 days."""
    body: dict[str, Value] = {"raw": zlib.compress(raw), "reason": reason, "quarantined_at": now.isoformat()}
    sk = f"{key.sk[: MAX_SORT_KEY_BYTES // 8]}#{uuid4().hex}"
    return Put(Key(quarantine_partition(key.pk), sk), body, 0, now + QUARANTINED_FOR)


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


def expiry_seconds(expires_at: datetime | None) -> int | None:
    """Return the expiry in whole Unix seconds, rounded down: an item may expire early by a fraction, never late."""
    return None if expires_at is None else math.floor(expires_at.timestamp())


def is_expired(expires_at_seconds: int | None, now: datetime) -> bool:
    """Check whether an item with this expiry is expired at this moment."""
    return expires_at_seconds is not None and now.timestamp() >= expires_at_seconds


def after_prefix(prefix: str) -> str | None:
    """Return the smallest text that sorts after everything with the prefix; None if there is none."""
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
