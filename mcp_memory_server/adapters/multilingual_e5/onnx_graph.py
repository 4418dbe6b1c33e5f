"""Writes a computation graph in the ONNX format, which is protocol buffers, without the package ``onnx``.

It can write only what the network of this folder needs. The numbers of fields are those of ``onnx.proto``.
"""

import struct
from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

Message = bytes

_IR_VERSION = 8
_OPSETS = {"": 17, "com.microsoft": 1}
"""The oldest versions that have all operators, so that old runtimes can read them."""
_FLOAT = 1
_TYPES = {"float32": _FLOAT, "uint8": 2}
_FLOAT_ATTRIBUTE, _INT_ATTRIBUTE = 1, 2

_VARINT, _FIXED_64, _DELIMITED, _FIXED_32 = 0, 1, 2, 5


def model(graph: Message) -> Message:
    """Return a model that consists of this graph."""
    opsets = (_field(8, _field(1, domain) + _field(2, version)) for domain, version in _OPSETS.items())
    return _field(1, _IR_VERSION) + b"".join(opsets) + _field(7, graph)


def graph(nodes: Iterable[Message], constants: Iterable[Message], given: Message, result: Message) -> Message:
    """Return a graph of nodes in an order in which they can be computed."""
    parts = [*(_field(1, node) for node in nodes), *(_field(5, constant) for constant in constants)]
    return b"".join([*parts, _field(2, "graph"), _field(11, given), _field(12, result)])


def node(
    operator: str, inputs: Iterable[str], outputs: Iterable[str], domain: str = "", **attributes: float
) -> Message:
    """Return the application of an operator. Integers become integer attributes, floats float ones."""
    parts = [*(_field(1, name) for name in inputs), *(_field(2, name) for name in outputs), _field(4, operator)]
    parts += [_field(5, _attribute(name, value)) for name, value in attributes.items()]
    return b"".join([*parts, _field(7, domain)])


def constant(name: str, array: NDArray[Any]) -> Message:
    """Return an array that belongs to the graph."""
    dimensions = b"".join(_field(1, length) for length in array.shape)
    return dimensions + _field(2, _TYPES[array.dtype.name]) + _field(8, name) + _field(9, array.tobytes())


def floats(name: str, *shape: int | str) -> Message:
    """Return the description of an input or output. A length with a name may differ from run to run."""
    lengths = (_field(1, _field(1 if isinstance(length, int) else 2, length)) for length in shape)
    tensor = _field(1, _FLOAT) + _field(2, b"".join(lengths))
    return _field(1, name) + _field(2, _field(1, tensor))


def _attribute(name: str, value: float) -> Message:
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, _INT_ATTRIBUTE)
    return _field(1, name) + _field(2, value) + _field(20, _FLOAT_ATTRIBUTE)


def _field(number: int, value: float | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | _FIXED_32) + struct.pack("<f", value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | _DELIMITED) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])
