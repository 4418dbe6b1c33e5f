"""Find the one bit that makes a damaged row match its checksum again.

A checksum of 32 bits distinguishes every single flipped bit in a row of up to 11 KB from every other. For a row that
was damaged otherwise, the chance that one of its thousands of bits happens to fit is about one in a million.
"""

import json
import zlib
from collections.abc import Sequence
from typing import Any, cast

from mcp_memory_server.adapters.sqlite.rows import Row, Stored
from mcp_memory_server.errors import TableDamagedError

LONGEST_MENDED = 11_000

_Raw = Sequence[bytes | int | None]


def row_from_raw(raw: _Raw) -> Row | None:
    """Return the row, mended if one bit is wrong; None if it cannot be read."""
    row = _decoded(raw)
    return row if row is not None and _is_sound(row) else mended(raw)


def mended(raw: _Raw) -> Row | None:
    """Return the row with the one bit turned that makes it match its checksum; None if there is no such bit."""
    pk, sk, version, expires_at, operations, body, checksum = raw
    texts = (pk, sk, operations, body)
    if (
        not all(isinstance(one, bytes) for one in texts)
        or not isinstance(version, int)
        or not isinstance(checksum, int)
    ):
        return None
    for wrong in range(32):  # in the checksum itself
        if (row := _sound((pk, sk, version, expires_at, operations, body, checksum ^ (1 << wrong)))) is not None:
            return row
    for bit in range(63):
        if (row := _sound((pk, sk, version ^ (1 << bit), expires_at, operations, body, checksum))) is not None:
            return row
        if isinstance(expires_at, int):
            if (row := _sound((pk, sk, version, None, operations, body, checksum))) is not None:
                return row  # its kind was "nothing"
            other = (pk, sk, version, expires_at ^ (1 << bit), operations, body, checksum)
            if (row := _sound(other)) is not None:
                return row
    return _mended_text(cast("Any", raw))


def _mended_text(raw: tuple[bytes, bytes, int, int | None, bytes, bytes, int]) -> Row | None:
    pk, sk, version, expires_at, operations, body, checksum = raw
    head = b"\n".join((pk, sk, str(version).encode(), str(expires_at).encode(), operations, body))
    if len(head) > LONGEST_MENDED:
        return None
    place = _place_of_wrong_bit(head, zlib.crc32(head) ^ checksum)
    if place is None:
        return None
    fixed = bytearray(head)
    fixed[place // 8] ^= 1 << (place % 8)
    at, parts = 0, list[bytes]()
    for part in (pk, sk, str(version).encode(), str(expires_at).encode(), operations, body):
        parts.append(bytes(fixed[at : at + len(part)]))
        at += len(part) + 1
    return _sound((parts[0], parts[1], version, expires_at, parts[4], parts[5], checksum))


def _place_of_wrong_bit(message: bytes, difference: int) -> int | None:
    """Return the number of the bit whose change changes the checksum by this difference.

    The checksum is linear: the effect of one bit depends on its distance from the end alone, so the effects of all bits
    follow from each other, one step of the register for each.
    """
    for distance in range(len(message)):
        for bit in range(8):
            if _effects(distance)[bit] == difference:
                return (len(message) - 1 - distance) * 8 + bit
    return None


_EFFECTS: list[tuple[int, ...]] = []


def _effects(distance: int) -> tuple[int, ...]:
    """Return by how much each bit of the byte at this distance from the end changes the checksum."""
    while len(_EFFECTS) <= distance:
        if not _EFFECTS:
            zero = zlib.crc32(b"\0")
            _EFFECTS.append(tuple(zlib.crc32(bytes([1 << bit])) ^ zero for bit in range(8)))
        else:
            _EFFECTS.append(tuple(_shifted(effect) for effect in _EFFECTS[-1]))
    return _EFFECTS[distance]


def _shifted(effect: int) -> int:
    return (effect >> 8) ^ _TABLE[effect & 0xFF]


def _entry(index: int) -> int:
    for _ in range(8):
        index = (index >> 1) ^ (0xEDB88320 if index & 1 else 0)
    return index


_TABLE = [_entry(index) for index in range(256)]


def _sound(raw: _Raw) -> Row | None:
    row = _decoded(raw)
    return row if row is not None and _is_sound(row) else None


def _decoded(raw: _Raw) -> Row | None:
    try:
        return cast("Row", tuple([part.decode() if isinstance(part, bytes) else part for part in raw]))
    except UnicodeDecodeError:
        return None


def _is_sound(row: Row) -> bool:
    try:
        Stored.from_row(row)
    except (TableDamagedError, json.JSONDecodeError):
        return False
    return True
