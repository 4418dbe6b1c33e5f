"""CBOR, as far as DAX's protocol uses it: values from a stream of bytes, and bytes from values."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from io import BytesIO
from typing import Any, Protocol

STRING_SET, NUMBER_SET, BINARY_SET, LIST_PLACE = 3321, 3322, 3323, 3324
"""Tags of DAX's own: DynamoDB's sets, and the number of a place in a list."""

_UNSIGNED, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP, _TAG, _SIMPLE = range(8)
_STREAMED = 31
_BIG, _NEGATIVE_BIG, _DECIMAL = 2, 3, 4
_BREAK = object()
_SIMPLE_VALUES = {20: False, 21: True, 22: None, 23: None}
_FLOATS = {25: ">e", 26: ">f", 27: ">d"}


class Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class ValueSet:
    """A set of DynamoDB, with the tag that tells which kind."""

    tag: int
    values: tuple[Any, ...]


@dataclass(frozen=True)
class ListPlace:
    """A number that names a place in a list, as in ``#name[3]``."""

    number: int


class Reader:
    """Reads one value after the other."""

    def __init__(self, stream: Stream | bytes) -> None:
        self._stream = BytesIO(stream) if isinstance(stream, bytes) else stream

    def value(self) -> Any:
        """Return the next value.

        Raises:
            EOFError: There is none, or not all of it.
        """
        found = self._item()
        if found is _BREAK:
            raise ValueError("a break where a value was expected")
        return found

    def raw(self, size: int) -> bytes:
        """Return so many bytes as they are."""
        data = self._stream.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def rest(self) -> bytes:
        """Return all bytes that are left. Only of bytes, not of a connection."""
        return self._stream.read(-1)

    def _item(self) -> Any:
        first = self.raw(1)[0]
        major, minor = first >> 5, first & 0x1F
        if major == _SIMPLE:
            return self._simple(minor)
        if minor == _STREAMED:
            return self._streamed(major)
        return self._sized(major, self._size(minor))

    def _size(self, minor: int) -> int:
        return minor if minor < 24 else int.from_bytes(self.raw(1 << (minor - 24)), "big")

    def _sized(self, major: int, size: int) -> Any:
        match major:
            case 0:
                return size
            case 1:
                return -1 - size
            case 2:
                return self.raw(size)
            case 3:
                return self.raw(size).decode()
            case 4:
                return [self.value() for _ in range(size)]
            case 5:
                return {self.value(): self.value() for _ in range(size)}
            case _:
                return _tagged(size, self.value())

    def _streamed(self, major: int) -> Any:
        parts = list(iter(self._item, _BREAK))
        match major:
            case 2:
                return b"".join(parts)
            case 3:
                return "".join(parts)
            case 4:
                return parts
            case _:
                return dict(zip(parts[::2], parts[1::2], strict=True))

    def _simple(self, minor: int) -> Any:
        if minor == _STREAMED:
            return _BREAK
        if minor in _FLOATS:
            return struct.unpack(_FLOATS[minor], self.raw(1 << (minor - 24)))[0]
        return _SIMPLE_VALUES[minor]


def encoded(value: Any) -> bytes:
    """Return the bytes of a value."""
    match value:
        case None | bool() | int() | Decimal():
            return _scalar(value)
        case bytes():
            return header(_BYTES, len(value)) + value
        case str():
            return header(_TEXT, len(value.encode())) + value.encode()
        case ValueSet():
            return header(_TAG, value.tag) + encoded(list(value.values))
        case Mapping():
            return mapping((encoded(key), encoded(entry)) for key, entry in value.items())
        case Sequence():
            return array(encoded(entry) for entry in value)
    raise TypeError(f"no CBOR for a {type(value).__name__}")


def array(entries: Iterable[bytes]) -> bytes:
    """Return an array of values that are encoded already."""
    parts = list(entries)
    return header(_ARRAY, len(parts)) + b"".join(parts)


def mapping(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return a map of keys and values that are encoded already."""
    parts = list(entries)
    return header(_MAP, len(parts)) + b"".join(key + value for key, value in parts)


def header(major: int, size: int) -> bytes:
    """Return how a value of this type and size begins."""
    if size < 24:
        return bytes([major << 5 | size])
    width = next(width for width in range(4) if size < 1 << (8 << width))
    return bytes([major << 5 | 24 + width]) + size.to_bytes(1 << width, "big")


def _tagged(tag: int, value: Any) -> Any:
    match tag:
        case 2 | 3:
            number = int.from_bytes(value, "big")
            return number if tag == _BIG else -1 - number
        case 4:
            exponent, mantissa = value
            digits = tuple(int(digit) for digit in str(abs(mantissa)))
            return Decimal((int(mantissa < 0), digits, exponent))
        case 3321 | 3322 | 3323:
            return ValueSet(tag, tuple(value))
        case 3324:
            return ListPlace(value)
    raise ValueError(f"the tag {tag} is none of DAX's")


def _scalar(value: Decimal | int | None) -> bytes:
    match value:
        case None:
            return b"\xf6"
        case bool():
            return b"\xf5" if value else b"\xf4"
        case int():
            return _integer(value)
        case Decimal():
            return _decimal(value)


def _integer(number: int) -> bytes:
    major, size = (_UNSIGNED, number) if number >= 0 else (_NEGATIVE, -1 - number)
    if size < 1 << 64:
        return header(major, size)
    tag = _BIG if number >= 0 else _NEGATIVE_BIG
    return header(_TAG, tag) + encoded(size.to_bytes((size.bit_length() + 7) // 8, "big"))


def _decimal(number: Decimal) -> bytes:
    sign, digits, exponent = number.as_tuple()
    mantissa = int("".join(map(str, digits))) * (-1 if sign else 1)
    return header(_TAG, _DECIMAL) + encoded([exponent, mantissa])
