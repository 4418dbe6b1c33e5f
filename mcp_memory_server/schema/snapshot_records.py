"""Encode snapshots of agent frameworks as items: compressed, and split where one item is too small.

=====================  ============  ================================  ========
what                   pk            sk                                lives
=====================  ============  ================================  ========
snapshot               SNAP#<user>   NAME#<name>                       90 days part of a large one    SNAP#<user>
PART#<name>#<writing>#<number>    90 days
=====================  ============  ================================  ========

Each write has parts of its own, and the head item names the write that its parts belong to, so a reader sees either all
of the old snapshot or all of the new one. Everything of a user is in one partition, so the parts of an interrupted
write are erased with the rest.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from mcp_memory_server.domain.kernel.items import Item, Key, Put, Value
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import TableDamagedError
from mcp_memory_server.schema.keys import decoded, encoded, snapshots_partition

LIFE = timedelta(days=90)
NAMES = "NAME#"
PART_BYTES = 300 * 1024


@dataclass(frozen=True)
class Written:
    """A snapshot as items: its parts, if it needs any, and the head item that names them."""

    parts: tuple[Put, ...]
    head: Put


def snapshot_key(scope: Scope, name: str) -> Key:
    """Return the key of the head item of the snapshot with this name."""
    return Key(snapshots_partition(scope.user_id), NAMES + encoded(name))


def name_of(key: Key) -> str:
    """Return the name of the snapshot with this key."""
    return decoded(key.sk.removeprefix(NAMES))


def written(scope: Scope, name: str, data: bytes, *, writing: str, expires_at: datetime | None) -> Written:
    """Return the snapshot as the items that hold it. The head has no expected version yet."""
    packed = zlib.compress(data)
    key = snapshot_key(scope, name)
    if len(packed) <= PART_BYTES:
        return Written((), Put(key, {"packed": packed}, expires_at=expires_at))
    pieces = [packed[start : start + PART_BYTES] for start in range(0, len(packed), PART_BYTES)]
    prefix = _parts_prefix(key, writing)
    parts = tuple(
        Put(Key(key.pk, f"{prefix}{number:04}"), {"packed": piece}, 0, expires_at)
        for number, piece in enumerate(pieces)
    )
    return Written(parts, Put(key, {"parts": len(pieces), "writing": writing}, expires_at=expires_at))


def parts_prefix(head: Item) -> str | None:
    """Return the prefix of the sort keys of the snapshot's parts; None if the head holds the whole snapshot."""
    writing = head.body.get("writing")
    return _parts_prefix(head.key, writing) if isinstance(writing, str) else None


def parts_keys(head: Item | None) -> list[Key]:
    """Return the keys of the parts of a snapshot."""
    if head is None or (prefix := parts_prefix(head)) is None:
        return []
    return [Key(head.key.pk, f"{prefix}{number:04}") for number in range(_parts(head))]


def is_whole(head: Item, parts: Sequence[Item]) -> bool:
    """Check whether these are all of the parts."""
    return len(parts) == _parts(head)


def data_from(head: Item, parts: Sequence[Item]) -> bytes:
    """Decode the snapshot.

    Raises:
        TableDamagedError: It cannot be decompressed.
    """
    pieces: list[Value] = [part.body.get("packed") for part in parts] if parts else [head.body.get("packed")]
    try:
        return zlib.decompress(b"".join(cast("list[bytes]", pieces)))
    except (zlib.error, TypeError) as error:
        raise TableDamagedError("a snapshot cannot be unpacked") from error


def _parts(head: Item) -> int:
    number = head.body.get("parts", 0)
    return number if isinstance(number, int) else 0


def _parts_prefix(key: Key, writing: str) -> str:
    return f"PART#{key.sk.removeprefix(NAMES)}#{writing}#"
