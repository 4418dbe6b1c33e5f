"""Keys: the bytes that a client sends for the key of an item, and the attributes that they stand for."""

from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any

from tests.dax_server.attributes import Item, plain_number, to_json
from tests.dax_server.cbor import Reader, encoded
from tests.dax_server.sortable_numbers import number_from, number_to


@dataclass(frozen=True)
class KeySchema:
    """The names and types (S, N, B) of the one or two attributes that are a table's key, the partition's first."""

    parts: tuple[tuple[str, str], ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.parts)

    def to_bytes(self, item: Item) -> bytes:
        """Return the key of an item. The partition comes first; of two parts only the second lies open, in order."""
        (name, kind), *second = self.parts
        first = item[name][kind]
        if not second:
            return encoded(plain_number(first)) if kind == "N" else _open(first, kind)
        ((name, sort_kind),) = second
        return encoded(_value(first, kind)) + _open(item[name][sort_kind], sort_kind)

    def from_bytes(self, data: bytes) -> Item:
        """Return the attributes of a key."""
        (name, kind), *second = self.parts
        if not second:
            return {name: to_json(Reader(data).value()) if kind == "N" else _opened(data, kind)}
        reader = Reader(data)
        key = {name: to_json(reader.value())}
        ((name, kind),) = second
        return {**key, name: _opened(reader.rest(), kind)}


def _value(content: str, kind: str) -> Any:
    match kind:
        case "N":
            return plain_number(content)
        case "B":
            return b64decode(content)
    return content


def _open(content: str, kind: str) -> bytes:
    match kind:
        case "N":
            return number_to(content)
        case "B":
            return b64decode(content)
    return content.encode()


def _opened(data: bytes, kind: str) -> dict[str, str]:
    match kind:
        case "N":
            return {"N": number_from(data)}
        case "B":
            return {"B": b64encode(data).decode()}
    return {"S": data.decode()}
