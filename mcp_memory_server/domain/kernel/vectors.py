"""Vectors: where a text lies among others in meaning, one signed byte for each dimension.

Only the direction of a vector counts. Its longest coordinate is stretched to 127, which keeps as much of the direction
as a byte can, and its length, which says nothing, need not be stored beside it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

LONGEST = 127


@dataclass(frozen=True)
class Vectors:
    """The vectors of one text: ``coarse`` by the fast model that sees every text, ``fine`` by the slow and better one.

    Only short memories get a fine vector; turns have none. Each model's vectors are comparable among themselves only.
    """

    coarse: bytes | None = None
    fine: bytes | None = None

    def or_else(self, other: "Vectors") -> "Vectors":
        """Return these vectors, and the other's where there is none."""
        return Vectors(self.coarse or other.coarse, self.fine or other.fine)


NO_VECTORS = Vectors()


def as_vector(numbers: Sequence[float]) -> bytes:
    """Return the direction of the numbers, a byte for each. Zeros, and what is not a number, have none: all zeros."""
    longest = max(map(abs, numbers), default=0.0)
    if not longest or not math.isfinite(sum(numbers)):
        return bytes(len(numbers))
    return bytes([round(number / longest * LONGEST) & 0xFF for number in numbers])


def closeness(one: bytes, other: bytes) -> float:
    """Return the cosine of two vectors of the same model, from -1 to 1; 0 if one of them has no direction."""
    a, b = memoryview(one).cast("b"), memoryview(other).cast("b")
    lengths = math.sqrt(sum(map(mul, a, a)) * sum(map(mul, b, b)))
    return sum(map(mul, a, b)) / lengths if lengths else 0.0
