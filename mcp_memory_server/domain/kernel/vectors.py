"""Vectors: the direction of a text's meaning, one signed byte for each dimension.

Only the direction of a vector counts. Its largest coordinate is scaled to 127, which keeps as much of the direction as
a byte can; its length means nothing and is not stored.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

LONGEST = 127


@dataclass(frozen=True)
class Vectors:
    """The vectors of one text: ``coarse`` by the fast model that embeds every text, ``fine`` by the slow and better
    one.

    Only short memories get a fine vector; turns have none. Only vectors of the same model can be compared.
    """

    coarse: bytes | None = None
    fine: bytes | None = None

    def or_else(self, other: "Vectors") -> "Vectors":
        """Return these vectors, with the other's where one is missing."""
        return Vectors(self.coarse or other.coarse, self.fine or other.fine)


NO_VECTORS = Vectors()


def as_vector(numbers: Sequence[float]) -> bytes:
    """Return the direction of the numbers, a byte for each. Zeros and numbers that are not finite give all zeros."""
    longest = max(map(abs, numbers), default=0.0)
    if not longest or not math.isfinite(sum(numbers)):
        return bytes(len(numbers))
    return bytes([round(number / longest * LONGEST) & 0xFF for number in numbers])


def closeness(one: bytes, other: bytes) -> float:
    """Return the cosine of two vectors of the same model, from -1 to 1; 0 if one of them has no direction."""
    a, b = memoryview(one).cast("b"), memoryview(other).cast("b")
    lengths = math.sqrt(sum(map(mul, a, a)) * sum(map(mul, b, b)))
    return sum(map(mul, a, b)) / lengths if lengths else 0.0
