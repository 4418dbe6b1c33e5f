"""Making the vectors of single words from the model: python -m tests.engines.word_vectors. It takes a minute or two."""

import numpy as np

from mcp_memory_server.adapters.built_in.static_model import POTION
from mcp_memory_server.adapters.multilingual_e5.model import Model, load_model
from mcp_memory_server.adapters.multilingual_e5.weights import Floats
from mcp_memory_server.adapters.multilingual_e5.word_vectors import WORD_VECTORS
from mcp_memory_server.domain.language.stop_words import STOP_WORDS
from tests.engines.multilingual_e5 import safetensors

WORDS = 14_000
DIRECTIONS = 256
SHORTEST = 3
_LENGTH_BYTES = 4


def common_words() -> list[str]:
    """Return English words, the most frequent first: the vocabulary of the coarse model is in that order."""
    with POTION.open("rb") as data:
        pieces = data.read(int.from_bytes(data.read(_LENGTH_BYTES))).decode().split("\n")
    words = (piece for piece in pieces if len(piece) >= SHORTEST and piece.isascii() and piece.isalpha())
    return [word for word in words if word not in STOP_WORDS["english"]][:WORDS]


def vectors_of(model: Model, words: list[str]) -> Floats:
    """Return the vector of each word as a question, of length 1."""
    rows = [np.frombuffer(model.vector(word, as_question=True), np.int8).astype(np.float32) for word in words]
    return np.stack([row / np.sqrt(np.square(row).sum()) for row in rows])


def made_from(words: list[str], vectors: Floats) -> bytes:
    """Return the file: the vectors in the directions in which they differ most."""
    directions, _, _ = np.linalg.svd(vectors.T.astype(np.float64) @ vectors.astype(np.float64))
    basis = directions[:, :DIRECTIONS]
    reduced = vectors @ basis
    scales = np.abs(reduced).max(axis=1) / 127
    arrays = {
        "words": np.frombuffer("\n".join(words).encode(), np.uint8),
        "numbers": np.rint(reduced / scales[:, np.newaxis]).astype(np.int8).view(np.uint8),
        "scales": scales.astype(np.float16),
        "basis": basis.astype(np.float16),
    }
    return safetensors(arrays, {"words": "the vocabulary of potion-base-8M"})


def main() -> None:
    words = common_words()
    WORD_VECTORS.write_bytes(made_from(words, vectors_of(load_model(use_onnxruntime=True), words)))


if __name__ == "__main__":
    main()
