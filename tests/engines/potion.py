"""Making the file of the built-in model from the published one: python -m tests.engines.potion FOLDER.

The folder is the published model ``minishlab/potion-base-8M`` as ``model2vec`` loads it.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from mcp_memory_server.adapters.built_in.static_model import POTION

PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "potion-base-8M"
"""Where it lies beside a working copy, if it does."""

LEVELS = 63
"""Seven bits a number: the fewest that leave every text within a cosine of 0.999, and a seventh less to download."""


def made_from(folder: Path) -> bytes:
    """Return the file: the vocabulary after its length, then scales, then vectors."""
    numbers = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    vocabulary = "\n".join(sorted(numbers, key=numbers.__getitem__)).encode()
    vectors = load_file(folder / "model.safetensors")["embeddings"].astype(np.float64)
    longest = np.abs(vectors).max(axis=1, keepdims=True)
    scales = (longest / LEVELS).astype("<f2")
    levels = np.rint(vectors / longest * LEVELS).astype(np.int8)
    return struct.pack(">I", len(vocabulary)) + vocabulary + scales.tobytes() + levels.tobytes()


if __name__ == "__main__":
    POTION.write_bytes(made_from(Path(sys.argv[1])))
