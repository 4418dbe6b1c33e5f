"""A static model: one vector for each word piece; the vector of a text is the mean of those of its pieces."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mcp_memory_server.adapters.built_in.word_pieces import UNKNOWN, WordPieces
from mcp_memory_server.domain.kernel.vectors import LONGEST

POTION = Path(__file__).with_name("potion_base_8m.vectors")

MAX_TOKENS = 512
"""How many tokens of a text are read, as in the library of the published model. More would blur its vector."""
MAX_CHARACTERS = MAX_TOKENS * 6
"""About as many characters as that number of tokens."""

_LENGTH_BYTES = 4


class StaticModel:
    """The vectors of a file that holds, one after another: the length of its vocabulary in bytes, the vocabulary with
    one piece a line, the scale of each piece as a 16-bit float, and the vector of each piece in signed bytes.

    The file is memory-mapped: all processes of a machine share the pages that are used.
    """

    def __init__(self, file: Path) -> None:
        with file.open("rb") as data:
            vocabulary = data.read(int.from_bytes(data.read(_LENGTH_BYTES))).decode().split("\n")
            scales = data.read(2 * len(vocabulary))
            start = data.tell()
        self._pieces = WordPieces({piece: number for number, piece in enumerate(vocabulary)})
        self._unknown = vocabulary.index(UNKNOWN)
        self._scales = np.frombuffer(scales, "<f2").astype(np.float32)
        self._vectors = np.asarray(np.memmap(file, np.int8, "r", start)).reshape(len(vocabulary), -1)

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._vectors.shape[1]

    def token_ids(self, text: str) -> list[int]:
        """Return the token ids of the known pieces at the beginning of a text, in order; each fits into two bytes."""
        ids = self._pieces.ids(text[:MAX_CHARACTERS])[:MAX_TOKENS]
        return [piece for piece in ids if piece != self._unknown]

    def token_vectors(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Return a row for each piece. The length of a row is the weight of the piece: rare ones have long vectors."""
        return self._scales[token_ids, np.newaxis] * self._vectors[token_ids]

    def vector(self, text: str) -> bytes:
        """Return the vector of the text, in the form of ``domain.kernel.vectors``."""
        token_ids = self.token_ids(text)
        if not token_ids:
            return bytes(self.dimensions)
        # Added up row by row: the last digits of a matrix product depend on the machine.
        total = self.token_vectors(token_ids).sum(axis=0)
        longest = np.abs(total).max()
        if not longest:
            return bytes(self.dimensions)
        return np.rint(total / longest * LONGEST).astype(np.int8).tobytes()


@cache
def load_potion() -> StaticModel:
    """Return the model that ships with the package. The first call takes some milliseconds."""
    return StaticModel(POTION)
