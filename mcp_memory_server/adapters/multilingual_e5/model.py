"""The whole model, from a text to its vector."""

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol

import numpy as np

from mcp_memory_server.adapters.multilingual_e5.numpy_network import Normalisation, numpy_stages
from mcp_memory_server.adapters.multilingual_e5.pieces import Pieces
from mcp_memory_server.adapters.multilingual_e5.question_means import QuestionMeans
from mcp_memory_server.adapters.multilingual_e5.weights import WIDTH, Floats, Weights, dequantise
from mcp_memory_server.domain.kernel.vectors import LONGEST

MAX_TOKENS = 128
"""How many tokens of a text are read, the prefix included: about 500 letters, or 150 Chinese characters."""
MAX_CHARACTERS = 8 * MAX_TOKENS
"""Texts are cut here before tokenization; nearly every text of this length has more tokens than are read."""

_START, _END = 0, 2
_QUESTION, _PASSAGE = "query:", "passage:"
"""The prefixes of questions and passages that the model was trained with."""


class Stage(Protocol):
    """Some layers of the transformer, computed by numpy or by onnxruntime."""

    def run(self, states: Floats) -> Floats:
        """Return the state of each token after these layers."""
        ...


def _go_on() -> None:
    """Do nothing between layers."""


class Model:
    """Computes the vector of a text. Any thread may use it."""

    def __init__(self, weights: Weights, stages: Sequence[Stage]) -> None:
        self._stages = stages
        vocabulary = weights["vocabulary"].tobytes().decode().split("\n")
        self._pieces = Pieces(vocabulary, weights["scores"].tolist())
        self._words = weights.quantised("words")
        self._positions = weights["positions"]
        self._norm = Normalisation(weights["words_norm.weight"], weights["words_norm.bias"])
        self._question_means = QuestionMeans(weights["mean_of_questions"])
        self._mean_of_passages = weights["mean_of_passages"]

    def vector(self, text: str, *, as_question: bool, between: Callable[[], None] = _go_on) -> bytes:
        """Return the vector of the text, in the form of ``domain.kernel.vectors``; zeros for a blank text.

        Vectors of all texts share a large component: unrelated ones have a cosine of about 0.8. The mean vector of many
        texts is subtracted, which brings that to about 0. ``between`` is called every few layers.
        """
        ids = self.token_ids(text, as_question=as_question)
        if not ids:
            return bytes(WIDTH)
        mean = self._question_means.of(text) if as_question else self._mean_of_passages
        centred = self.direction(ids, between) - mean
        return np.rint(centred / np.abs(centred).max() * LONGEST).astype(np.int8).tobytes()

    def token_ids(self, text: str, *, as_question: bool) -> list[int]:
        """Return the token ids of the text; none for a blank text."""
        prefix = self._pieces.ids(_QUESTION if as_question else _PASSAGE, MAX_TOKENS)
        ids = self._pieces.ids(text[:MAX_CHARACTERS], MAX_TOKENS - len(prefix) - 2)
        return [_START, *prefix, *ids, _END] if ids else []

    def direction(self, token_ids: Sequence[int], between: Callable[[], None] = _go_on) -> Floats:
        """Return the vector that the published model gives, of length 1."""
        levels, scales = self._words
        ids = list(token_ids)
        states = self._norm.run(dequantise(levels[ids], scales[ids]) + self._positions[: len(ids)])
        for stage in self._stages:
            states = stage.run(states)
            between()
        mean = states.mean(axis=0)
        return mean / np.sqrt(np.square(mean).sum())


_loading = threading.Lock()


def load_model(*, use_onnxruntime: bool) -> Model:
    """Return the model that ships with the package, one for the whole process. The first call takes a while."""
    with _loading:
        return _loaded(use_onnxruntime)


@cache
def _loaded(use_onnxruntime: bool) -> Model:  # noqa: FBT001
    weights = Weights()
    if use_onnxruntime:
        # Imported here: it is an optional dependency.
        from mcp_memory_server.adapters.multilingual_e5.onnx_network import onnx_stages

        return Model(weights, onnx_stages(weights))
    return Model(weights, numpy_stages(weights))
