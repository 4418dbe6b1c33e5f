"""Attributes: as DynamoDB's JSON has them, and as they travel to and from a client of DAX."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from tests.dax_server.cbor import BINARY_SET, NUMBER_SET, STRING_SET, ValueSet, encoded

Attribute: TypeAlias = dict[str, Any]
Item: TypeAlias = dict[str, Attribute]

_SETS = {STRING_SET: "SS", NUMBER_SET: "NS", BINARY_SET: "BS"}
_TAGS = {kind: tag for tag, kind in _SETS.items()}


def to_json(value: Any) -> Attribute:
    """Return the attribute of a decoded value."""
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case int() | Decimal() | float():
            return {"N": str(value)}
        case bytes():
            return {"B": b64encode(value).decode()}
        case ValueSet():
            kind = _SETS[value.tag]
            return {kind: [to_json(entry)[kind[0]] for entry in value.values]}
        case Mapping():
            return {"M": {name: to_json(entry) for name, entry in value.items()}}
        case list():
            return {"L": [to_json(entry) for entry in value]}
    raise TypeError(f"no attribute for a {type(value).__name__}")


def from_json(attribute: Attribute) -> bytes:
    """Return an attribute as a client reads it."""
    return encoded(_plain(attribute))


def plain_number(text: str) -> int | Decimal:
    """Return a number of DynamoDB's."""
    return int(text) if text.lstrip("-").isdigit() else Decimal(text)


def _plain(attribute: Attribute) -> Any:
    ((kind, content),) = attribute.items()
    match kind:
        case "S" | "BOOL":
            return content
        case "N":
            return plain_number(content)
        case "NULL":
            return None
        case "B":
            return b64decode(content)
        case "M":
            return {name: _plain(entry) for name, entry in content.items()}
        case "L":
            return [_plain(entry) for entry in content]
    return ValueSet(_TAGS[kind], tuple(_plain({kind[0]: entry}) for entry in content))
