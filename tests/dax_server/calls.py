"""Calls: what a client sends after the greeting, read from its connection into plain values."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Self

from tests.dax_server.cbor import Reader

MAGIC = b"gJ7yne5G"


class Method(IntEnum):
    """What a client can ask for, by the number it has in the protocol; and how many values follow the number."""

    arguments: int

    def __new__(cls, number: int, arguments: int) -> Self:
        method = int.__new__(cls, number)
        method._value_ = number
        method.arguments = arguments
        return method

    AUTHORIZE = 1489122155, 5
    ENDPOINTS = 455855874, 0
    KEY_SCHEMA = -742646399, 1
    ATTRIBUTE_LIST = 670678385, 1
    ATTRIBUTE_LIST_ID = -1230579644, 1
    GET_ITEM = 263244906, 3
    BATCH_GET_ITEM = -697851100, 2
    PUT_ITEM = -2106490455, 4
    UPDATE_ITEM = 1425579023, 3
    DELETE_ITEM = 1013539361, 3
    BATCH_WRITE_ITEM = 116217951, 2
    QUERY = -931250863, 3
    SCAN = -1875390620, 2
    TRANSACT_GET_ITEMS = 1866287579, 4
    TRANSACT_WRITE_ITEMS = -1160037738, 9


class Option(IntEnum):
    """What may stand in the last value of a call, by its number in the protocol."""

    PROJECTION = 0
    CONSISTENT = 2
    CAPACITY = 3
    CONDITION = 4
    COLLECTION_METRICS = 6
    RETURN_VALUES = 7
    UPDATE = 8
    START_KEY = 9
    FILTER = 10
    INDEX = 11
    KEY_CONDITION = 12
    LIMIT = 13
    FORWARD = 14
    SELECT = 15
    SEGMENT = 16
    SEGMENTS = 17
    TOKEN = 19


@dataclass(frozen=True)
class Call:
    """One request of a client."""

    method: Method
    arguments: list[Any]

    @property
    def options(self) -> dict[int, Any]:
        # A condition stands there twice, as text and as a tree: the later one, the tree, is what counts.
        return self.arguments[-1] or {}


def read_greeting(reader: Reader) -> None:
    """Read what a client says first.

    Raises:
        ValueError: It does not speak this protocol.
    """
    if reader.raw(len(MAGIC)) != MAGIC:
        raise ValueError("this is not DAX's protocol")
    for _ in ("layering", "session", "about the client", "types"):
        reader.value()


def read_call(reader: Reader) -> Call:
    """Wait for the next request and return it."""
    service, number = reader.value(), reader.value()
    if service != 1:
        raise ValueError(f"there is no service {service}")
    method = Method(number)
    return Call(method, [reader.value() for _ in range(method.arguments)])
