"""Numbers as bytes whose order is the order of the numbers: how DAX writes a numeric sort key.

A first byte has the sign and the exponent (of the number written as 0.ddd with its power of ten), as four more bytes
where it is large. Then come the digits, three at a time in ten bits, raised by 12, so that the values below are free to
end the number: 0, 1 or 2 for one, two or three digits in the last group. For a negative number all is turned around.
"""

from decimal import Decimal

_ZERO = 0x80
_NEAR = 0x3E
_RAISED = 12
_TOP = 1023


def number_to(text: str) -> bytes:
    """Return the bytes of a number."""
    number = Decimal(text)
    if not number:
        return bytes([_ZERO])
    sign, digits, scale = number.as_tuple()
    assert isinstance(scale, int)
    body = _packed("".join(map(str, digits)), negative=bool(sign))
    return _head(len(digits) + scale, negative=bool(sign)) + body


def number_from(data: bytes) -> str:
    """Return the number of these bytes, as DynamoDB writes it."""
    if data[0] in (_ZERO, 0x7F):
        return "0"
    negative, exponent, body = _parted(data)
    digits = _unpacked(body, negative=negative)
    number = Decimal((int(negative), tuple(map(int, digits)), exponent - len(digits)))
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _head(exponent: int, *, negative: bool) -> bytes:
    if -_NEAR <= exponent < _NEAR:
        return bytes([0x3F - exponent if negative else exponent + 0xC0])
    far = (exponent & 0xFFFFFFFF) ^ (0x7FFFFFFF if negative else 0x80000000)
    first = (0x7E if exponent < 0 else 0x01) if negative else (0x81 if exponent < 0 else 0xFE)
    return bytes([first]) + far.to_bytes(4, "big")


def _parted(data: bytes) -> tuple[bool, int, bytes]:
    first = data[0]
    if first in (0x01, 0x7E, 0x81, 0xFE):
        negative = first in (0x01, 0x7E)
        far = int.from_bytes(data[1:5], "big") ^ (0x7FFFFFFF if negative else 0x80000000)
        return negative, far - (1 << 32) if far >= 1 << 31 else far, data[5:]
    negative = first < 0x80
    return negative, 0x3F - first if negative else first - 0xC0, data[1:]


def _packed(digits: str, *, negative: bool) -> bytes:
    groups = [int(digits[at : at + 3].ljust(3, "0")) for at in range(0, len(digits), 3)]
    ending = (len(digits) - 1) % 3
    values = [_RAISED + 999 - group if negative else _RAISED + group for group in groups]
    values.append(_TOP - ending if negative else ending)
    bits = "".join(f"{value:010b}" for value in values)
    bits = bits.ljust(-(-len(bits) // 8) * 8, "0")
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def _unpacked(data: bytes, *, negative: bool) -> str:
    bits = f"{int.from_bytes(data, 'big'):0{8 * len(data)}b}"
    digits = ""
    for at in range(0, len(bits) - 9, 10):
        value = int(bits[at : at + 10], 2)
        ending = _TOP - value if negative else value
        if ending < 3:
            return digits[: len(digits) - 2 + ending]
        group = _RAISED + 999 - value if negative else value - _RAISED
        digits += f"{group:03d}"
    raise ValueError("a number without an end")
