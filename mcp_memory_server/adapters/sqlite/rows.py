"""One item as a row of the file: JSON text with a checksum, because SQLite does not notice a flipped bit by itself."""

import base64
import json
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from mcp_memory_server.domain.kernel.items import DamagedBody, Item, Key, Value
from mcp_memory_server.errors import TableDamagedError

COLUMNS = "pk, sk, version, expires_at, operations, body, checksum"

Row = tuple[str, str, int, int | None, str, str, int]

_BYTES = "$bytes"
LONGEST_NAME = 256


@dataclass(frozen=True)
class Stored:
    """A row in readable form. The newest operation id comes first."""

    key: Key
    body: Mapping[str, Value]
    version: int
    expires_at: int | None
    operations: tuple[str, ...]

    def to_row(self) -> Row:
        """Return the row, with its checksum."""
        body = _to_json(self.body)
        operations = json.dumps(self.operations)
        parts = (self.key.pk, self.key.sk, self.version, self.expires_at, operations, body)
        return (*parts, _checksum(*parts))

    @classmethod
    def from_row(cls, row: Row, attributes: Collection[str] | None = None) -> "Stored":
        """Read the row back, with only these attributes if they are given.

        Raises:
            TableDamagedError: It is not what was written.
        """
        pk, sk, version, expires_at, operations, body, checksum = row
        try:
            if checksum != _checksum(pk, sk, version, expires_at, operations, body):
                raise TableDamagedError(_damage(sk))
            return cls(Key(pk, sk), _from_json(body, attributes), version, expires_at, tuple(json.loads(operations)))
        except (TypeError, ValueError, AttributeError) as error:
            raise TableDamagedError(_damage(sk)) from error

    @staticmethod
    def check(row: Any) -> None:
        """Check a row without reading it.

        Raises:
            TableDamagedError: It is not what was written.
        """
        *parts, checksum = row
        try:
            is_sound = checksum == _checksum(*parts)
        except UnicodeEncodeError:
            is_sound = False
        if not is_sound:
            raise TableDamagedError(_damage(row[1]))

    @classmethod
    def damaged(cls, key: Key) -> "Stored":
        """Return what stands for a row that cannot be read."""
        return cls(key, DamagedBody(_damage(key.sk)), 0, None, ())

    @property
    def is_damaged(self) -> bool:
        """Whether the row cannot be read."""
        return isinstance(self.body, DamagedBody)

    @property
    def reason(self) -> str:
        """Why the row cannot be read."""
        return self.body.reason if isinstance(self.body, DamagedBody) else ""

    def to_item(self) -> Item:
        """Return the item."""
        if self.is_damaged:
            return Item(self.key, self.body, 0)
        expires_at = None if self.expires_at is None else datetime.fromtimestamp(self.expires_at, UTC)
        return Item(self.key, self.body, self.version, expires_at, self.operations[0])


def _damage(sk: object) -> str:
    kind = str(sk).partition("#")[0]
    return f"a {kind!r} item in the memory file is damaged; run `mcp-memory-server repair` to see what can be saved"


def _checksum(pk: str, sk: str, version: int, expires_at: int | None, operations: str, body: str) -> int:
    return zlib.crc32(f"{pk}\n{sk}\n{version}\n{expires_at}\n{operations}\n{body}".encode())


def _to_json(body: Mapping[str, Value]) -> str:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=_marked_bytes)
    # A name of the caller's that looks like ours is rare: only then is the slow way taken.
    return json.dumps(_escaped(body), ensure_ascii=False, separators=(",", ":")) if '"$' in text else text


def _from_json(text: str, attributes: Collection[str] | None) -> dict[str, Value]:
    if (
        attributes is not None
        and all(map(str.isidentifier, attributes))
        and not any(map(text.__contains__, attributes))
    ):
        return {}  # a name that is nowhere in the text is not that of an attribute
    entries: dict[str, Any] = json.loads(text)
    may_be_escaped = '"$' in text
    if may_be_escaped:
        entries = {_unescaped_name(name): entry for name, entry in entries.items()}
    if attributes is not None:
        entries = {name: entries[name] for name in attributes if name in entries}
    return {name: _unescaped(entry) for name, entry in entries.items()} if may_be_escaped else entries


def _marked_bytes(value: object) -> dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} cannot be stored")
    return {_BYTES: base64.b64encode(value).decode()}


def _escaped(value: object) -> Any:
    match value:
        case bytes():
            return _marked_bytes(value)
        case Mapping():
            entries = cast("Mapping[str, object]", value).items()
            return {f"${name}" if name.startswith("$") else name: _escaped(entry) for name, entry in entries}
        case list():
            return [_escaped(entry) for entry in cast("list[object]", value)]
        case _:
            return value


def _unescaped(value: Any) -> Any:
    match value:
        case dict():
            entries = cast("dict[str, Any]", value)
            if entries.keys() == {_BYTES}:
                return base64.b64decode(entries[_BYTES])
            return {_unescaped_name(name): _unescaped(entry) for name, entry in entries.items()}
        case list():
            return [_unescaped(entry) for entry in cast("list[Any]", value)]
        case _:
            return value


def _unescaped_name(name: str) -> str:
    return name[1:] if name.startswith("$") else name
