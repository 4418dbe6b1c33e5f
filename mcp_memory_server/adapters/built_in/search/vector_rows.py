"""Vector rows: which documents lie close to a question in meaning.

The form of a vector is that of ``domain.vectors``. Beside it a row has a signature of one bit a dimension, 32 times
smaller than numbers would be: many documents are first compared by signatures, and only the closest by vectors.
"""

import numpy as np
from numpy.typing import NDArray

from mcp_memory_server.adapters.built_in.search.columns import Numbers, Rows, with_room

COMPARED_WORDS, MOST_BITS_APART = 2, 0.17
"""Texts that say the same have the same bits in the first words of their signatures, but for this share."""

_WORD_BITS = 64
_FARTHEST = 2**15


class VectorRows:
    """The vectors of one model. A row without one is close to nothing."""

    def __init__(self) -> None:
        self._vectors = np.empty((0, 0), np.int8)
        self._inverse_lengths = np.empty(0, np.float32)
        self._signatures: list[NDArray[np.uint64]] = []
        self._rows = 0
        self._without_vector = 0

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; 0 as long as there is none."""
        return self._vectors.shape[1]

    def put(self, row: int, vector: bytes | None) -> None:
        """Write the vector of a row.

        Raises:
            ValueError: It has not as many dimensions as the others.
        """
        if not self.dimensions and vector:
            self._begin(len(vector))
        self._vectors = with_room(self._vectors, row)
        self._inverse_lengths = with_room(self._inverse_lengths, row)
        self._signatures = [with_room(words, row) for words in self._signatures]
        numbers = self._checked(vector) if vector else np.zeros(self.dimensions, np.int8)
        self._vectors[row] = numbers
        self._without_vector += (inverse := _inverse_length(numbers)) == 0
        self._without_vector -= row < self._rows and self._inverse_lengths[row] == 0
        self._rows = max(self._rows, row + 1)
        self._inverse_lengths[row] = inverse
        for words, word in zip(self._signatures, _signature(numbers), strict=True):
            words[row] = word

    def vector(self, row: int) -> bytes | None:
        """Return the vector of a row, None if it has none."""
        return self._vectors[row].tobytes() if self._inverse_lengths[row] else None

    def cosines(self, rows: Rows, question: bytes) -> Numbers:
        """Return how close each of the rows is to the question, from -1 to 1; 0 for a row without a vector."""
        numbers = self._checked(question)
        # Not by the library for matrices: it would wait for a second thread, on a busy machine for milliseconds.
        products = np.vecdot(self._vectors.take(rows, axis=0), numbers.astype(np.float32))
        return products * self._inverse_lengths[rows] * _inverse_length(numbers)

    def has_vector(self, rows: Rows) -> NDArray[np.bool_]:
        """Return of each row whether it has a vector."""
        return self._inverse_lengths[rows] > 0

    def nearest(self, question: bytes, limit: int, size: int) -> Rows:
        """Return about ``limit`` of the first ``size`` rows, those that are closest by signature."""
        differing = np.zeros(size, np.uint16)
        for words, word in zip(self._signatures, _signature(self._checked(question)), strict=True):
            differing += np.bitwise_count(words[:size] ^ word)
        if self._without_vector:
            differing[self._inverse_lengths[:size] == 0] = _FARTHEST
        up_to = int(np.searchsorted(np.cumsum(np.bincount(differing, minlength=1)), limit))
        return np.flatnonzero(differing <= min(up_to, _FARTHEST - 1))

    def alike(self, rows: Rows) -> list[tuple[int, int]]:
        """Return the places of rows that may say the same, an earlier and a later one, in order of the later one.

        Of a row without a vector that is not known, so it may be any.
        """
        differing = np.zeros((len(rows), len(rows)), np.uint16)
        compared = self._signatures[:COMPARED_WORDS]
        for words in compared:
            some = words[rows]
            differing += np.bitwise_count(some[:, None] ^ some)
        if self._without_vector:
            unknown = ~self.has_vector(rows)
            differing[unknown], differing[:, unknown] = 0, 0
        later, earlier = np.nonzero(differing <= MOST_BITS_APART * _WORD_BITS * len(compared))
        pairs = zip(earlier.tolist(), later.tolist(), strict=True)
        return [(first, second) for first, second in pairs if first < second]

    def _begin(self, dimensions: int) -> None:
        self._vectors = np.zeros((len(self._inverse_lengths), dimensions), np.int8)
        words = -(-dimensions // _WORD_BITS)
        self._signatures = [np.zeros(len(self._inverse_lengths), np.uint64) for _ in range(words)]

    def _checked(self, vector: bytes) -> NDArray[np.int8]:
        if len(vector) != self.dimensions:
            raise ValueError(f"a vector must have {self.dimensions} dimensions as the others, got {len(vector)}")
        return np.frombuffer(vector, np.int8)


def _inverse_length(numbers: NDArray[np.int8]) -> float:
    length = float(np.linalg.norm(numbers.astype(np.float32)))
    return 1 / length if length else 0.0


def _signature(numbers: NDArray[np.int8]) -> NDArray[np.uint64]:
    bits = np.packbits(numbers > 0)
    return np.frombuffer(bits.tobytes() + bytes(-len(bits) % 8), np.uint64)
