"""Values in the notation of DynamoDB, and rows: items as they are stored, expired or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeAlias

from mcp_memory_server.domain.kernel.item_checks import RESERVED_ATTRIBUTES
from mcp_memory_server.domain.kernel.items import Body, DamagedBody, Item, Key, Value, is_expired
from mcp_memory_server.errors import TableDamagedError

Attribute: TypeAlias = Mapping[str, Any]
Attributes: TypeAlias = Mapping[str, Attribute]

OPERATIONS = ("op", "op1", "op2", "op3")
"""The attributes with the ids of the last operations, the newest first."""

_EXACT_DIGITS = 38
_FLOAT_DIGITS = 17


@dataclass(frozen=True)
class Row:
    """An item as it is stored, with the operation ids by which a repeated write is recognised."""

    key: Key
    body: Mapping[str, Value]
    version: int
    expires_at: int | None
    operations: tuple[str | None, ...]

    @property
    def is_damaged(self) -> bool:
        """Whether the row cannot be read."""
        return isinstance(self.body, DamagedBody)

    def check_readable(self) -> None:
        """Raise the error of a row that cannot be read."""
        if isinstance(self.body, DamagedBody):
            raise TableDamagedError(self.body.reason)

    def is_live(self, now: datetime) -> bool:
        """Return whether the item has not expired at this moment."""
        return not is_expired(self.expires_at, now)

    def version_after(self, operation: str) -> int | None:
        """Return the version that this operation made, None if it is not among the last ones."""
        return self.version - self.operations.index(operation) if operation in self.operations else None

    def item(self) -> Item:
        """Return the item that callers get."""
        if self.is_damaged:
            return Item(self.key, self.body, 0)
        return Item(self.key, self.body, self.version, _moment(self.expires_at), self.operations[0])


def row_from(attributes: Attributes) -> Row:
    """Return the row of these stored attributes. What this program cannot have written is a damaged row."""
    try:
        row = Row(
            key=Key(attributes["pk"]["S"], attributes["sk"]["S"]),
            body={name: from_attribute(value) for name, value in attributes.items() if name not in RESERVED_ATTRIBUTES},
            version=int(attributes["version"]["N"]),
            expires_at=int(Decimal(attributes["expires_at"]["N"])) if "expires_at" in attributes else None,
            operations=tuple(attributes.get(name, {}).get("S") for name in OPERATIONS),
        )
        _moment(row.expires_at)
    except (KeyError, ValueError, ArithmeticError, TableDamagedError) as error:
        reason = f"an item has no usable {error}: another program wrote to this table; see `mcp-memory-server repair`"
        return Row(Key(attributes["pk"]["S"], attributes["sk"]["S"]), DamagedBody(reason), 0, None, ())
    return row


def to_attributes(body: Body) -> dict[str, Attribute]:
    """Return the body in DynamoDB's notation."""
    return {name: to_attribute(value) for name, value in body.items()}


def to_attribute(value: Value) -> Attribute:
    """Return one value in DynamoDB's notation."""
    match value:
        case str():
            return {"S": value}
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": number_text(value)}
        case None:
            return {"NULL": True}
        case bytes():
            return {"B": value}
        case Mapping():
            return {"M": to_attributes(value)}
        case Sequence():
            return {"L": [to_attribute(entry) for entry in value]}


def from_attribute(attribute: Attribute) -> Value:
    """Return the value of an attribute. A set, which only another program can have written, becomes a list."""
    ((kind, content),) = attribute.items()
    match kind:
        case "S" | "BOOL":
            return content
        case "N":
            return number_from(content)
        case "NULL":
            return None
        case "B":
            return bytes(content)
        case "M":
            return {name: from_attribute(entry) for name, entry in content.items()}
        case "L":
            return [from_attribute(entry) for entry in content]
        case _:
            return [from_attribute({kind.removesuffix("S"): entry}) for entry in sorted(content)]


def number_text(number: float) -> str:
    """Return the number so that reading it gives the same number again."""
    # A large whole float is written digit by digit: its short form names another whole number.
    if isinstance(number, float) and number.is_integer() and abs(number) < 10**_EXACT_DIGITS:
        return str(int(number))
    return repr(number)


def number_from(text: str) -> int | float:
    """Return the stored number as int where it is whole, as float otherwise."""
    number = Decimal(text)
    if number != number.to_integral_value():
        return float(number)
    # Beyond the exact digits only a float can have been meant, unless it says more than a float can.
    if number.adjusted() >= _EXACT_DIGITS and _significant_digits(number) <= _FLOAT_DIGITS:
        return float(number)
    return int(number)


def _significant_digits(number: Decimal) -> int:
    return len("".join(map(str, number.as_tuple().digits)).rstrip("0"))


def _moment(seconds: int | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise TableDamagedError(f"an item expires at {seconds!r}, which is no date") from error
