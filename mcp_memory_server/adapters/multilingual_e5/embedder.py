"""Vectors from multilingual-e5-small, which ships with the package: no download, no key, no service."""

import asyncio
import importlib.util
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from mcp_memory_server.adapters.multilingual_e5.worker import Urgency, Worker
from mcp_memory_server.errors import ConfigurationError, UnavailableError

if TYPE_CHECKING:
    from mcp_memory_server.adapters.multilingual_e5.model import Model

_log = logging.getLogger(__name__)

MODEL = "multilingual-e5-small/4-bit/1"
"""Names the model, its storage format and its tokenizer. Change it when any text gets another vector.

It does not name the library that computes: vectors of both have a cosine of more than 0.999.
"""
DIMENSIONS = 384


class MultilingualE5Embedder:
    """Answers the port with multilingual-e5-small. It is loaded when first used.

    All texts are embedded in one thread, one after another, so that one text never changes the vector of another and
    the rest of the process keeps a core. Questions are embedded before passages: one that arrives while a passage is
    embedded waits for a few layers only.
    """

    def __init__(self, use_onnxruntime: bool | None = None) -> None:  # noqa: FBT001
        """``use_onnxruntime``: compute with onnxruntime, which is faster than numpy; None: if it is installed."""
        self._use_onnxruntime = use_onnxruntime
        self._worker = Worker("multilingual-e5")
        self._model: Model | None = None

    @property
    def model(self) -> str:
        """See the port."""
        return MODEL

    @property
    def dimensions(self) -> int:
        """See the port."""
        return DIMENSIONS

    @property
    def runs_here(self) -> bool:
        """See the port."""
        return True

    @property
    def is_loaded(self) -> bool:
        """See the port."""
        return self._model is not None

    def prepare(self) -> None:
        """See the port."""
        if self._model is None:
            with suppress(RuntimeError):  # it was closed
                self._worker.submit(Urgency.LOADING, self._loaded)

    async def embed(self, texts: Sequence[str], *, as_question: bool = False) -> Sequence[bytes]:
        """See the port."""
        # One job for each text, so that a question need not wait until a thousand passages are done.
        return [await asyncio.wrap_future(self._submit(text, as_question=as_question)) for text in texts]

    async def close(self) -> None:
        """See the port."""
        self._worker.close()

    def _submit(self, text: str, *, as_question: bool) -> Future[bytes]:
        urgency = Urgency.QUESTION if as_question else Urgency.PASSAGE
        let_others = partial(self._worker.do_what_goes_before, urgency)
        try:
            return self._worker.submit(
                urgency, lambda: self._loaded().vector(text, as_question=as_question, between=let_others)
            )
        except RuntimeError as error:
            raise UnavailableError(f"{MODEL} was closed") from error

    def _loaded(self) -> "Model":
        if self._model is None:
            try:
                self._model = _load(self._use_onnxruntime)
            except Exception as error:  # files, numpy and onnxruntime have no narrower exception in common
                raise ConfigurationError(f"{MODEL} cannot be loaded: {error!r}") from error
        return self._model


def _load(use_onnxruntime: bool | None) -> "Model":  # noqa: FBT001
    # Imported here: it loads numpy.
    from mcp_memory_server.adapters.multilingual_e5.model import load_model

    if use_onnxruntime is not None:
        return load_model(use_onnxruntime=use_onnxruntime)
    if importlib.util.find_spec("onnxruntime") is None:
        return load_model(use_onnxruntime=False)
    try:
        return load_model(use_onnxruntime=True)
    except Exception:  # noqa: BLE001 - numpy gives the same vectors
        _log.warning("onnxruntime cannot run %s; numpy is used, which takes longer", MODEL, exc_info=True)
        return load_model(use_onnxruntime=False)
