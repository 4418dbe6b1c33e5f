"""The weights file, in the safetensors format: a JSON header that says where each array lies, then the arrays.

Most arrays hold four bits a number. A row is cut into blocks of ``BLOCK`` numbers; each block has a 16-bit float as its
scale, and each byte two numbers, the first in its low half. A number is its four bits minus ``ZERO``, times the scale.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WEIGHTS = Path(__file__).with_name("multilingual_e5_small.safetensors")

BLOCK = 32
ZERO = 8
LAYERS = 12
HEADS = 12
WIDTH = 384
EPSILON = 1e-12
"""What layer normalisation adds to a variance."""

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]

_LENGTH_BYTES = 8
_TYPES = {"U8": np.dtype("u1"), "F16": np.dtype("<f2"), "F32": np.dtype("<f4")}
_PAIRS = np.stack([np.arange(256) & 15, np.arange(256) >> 4], axis=1).astype(np.float32) - ZERO
"""The two numbers of each byte, before scaling."""


class Weights:
    """The arrays of a weights file by name. They stay in the file, and in memory only once for all processes."""

    def __init__(self, file: Path = WEIGHTS) -> None:
        with file.open("rb") as data:
            header: dict[str, Any] = json.loads(data.read(int.from_bytes(data.read(_LENGTH_BYTES), "little")))
            start = data.tell()
        content = np.asarray(np.memmap(file, np.uint8, "r"))
        header.pop("__metadata__", None)
        self._arrays = {name: _array(content[start:], described) for name, described in header.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    def quantised(self, name: str) -> tuple[Bytes, NDArray[np.float16]]:
        """Return the bytes and the scales of a four-bit array."""
        return self[f"{name}.levels"], self[f"{name}.scales"]


def dequantise(levels: Bytes, scales: NDArray[np.float16]) -> Floats:
    """Return the rows of numbers that these bytes and scales stand for."""
    numbers = _PAIRS[levels].reshape(*scales.shape, BLOCK)
    numbers *= scales.astype(np.float32)[..., np.newaxis]
    return numbers.reshape(*scales.shape[:-1], -1)


def _array(content: Bytes, described: dict[str, Any]) -> NDArray[Any]:
    first, end = described["data_offsets"]
    return content[first:end].view(_TYPES[described["dtype"]]).reshape(described["shape"])
