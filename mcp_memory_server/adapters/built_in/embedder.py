"""Vectors from the model that ships with the package: no download, no key, no service."""

import asyncio
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mcp_memory_server.adapters.built_in.static_model import StaticModel

MODEL = "potion-base-8M/7-bit/1"
"""Names the model, its storage format and its tokenizer. Change it when any text gets another vector."""
DIMENSIONS = 256

SHORT = 2_000
"""Up to this many characters are embedded in the event loop: that takes less time than a change of threads."""


class BuiltInEmbedder:
    """Answers the port with potion-base-8M. It is loaded when first used."""

    def __init__(self) -> None:
        self._model: StaticModel | None = None
        self._is_being_loaded = False

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
        if self._model is None and not self._is_being_loaded:
            self._is_being_loaded = True
            threading.Thread(target=self._loaded, name="memory-model", daemon=True).start()

    async def embed(self, texts: Sequence[str], *, as_question: bool = False) -> Sequence[bytes]:  # noqa: ARG002
        """See the port. A question lies where its answer does."""
        if self._model is None or sum(map(len, texts)) > SHORT:
            return await asyncio.to_thread(self._embed, texts)
        return self._embed(texts)

    def token_ids(self, text: str) -> Sequence[int]:
        """Return the numbers of the known pieces of a text, in order. Each fits into two bytes."""
        return self._loaded().token_ids(text)

    def token_vectors(self, text: str) -> "NDArray[np.float32]":
        """Return a row for each known piece of a text, in order; none for a text without any.

        The length of a row is the weight of the piece. It takes as long as embedding, and the first call loads the
        model: make that one in a thread.
        """
        return self.vectors_of(self.token_ids(text))

    def vectors_of(self, token_ids: Sequence[int]) -> "NDArray[np.float32]":
        """Return the rows of ``token_vectors`` for these token ids."""
        return self._loaded().token_vectors(token_ids)

    async def close(self) -> None:
        """See the port."""

    def _embed(self, texts: Sequence[str]) -> list[bytes]:
        model = self._loaded()
        return [model.vector(text) for text in texts]

    def _loaded(self) -> "StaticModel":
        if self._model is None:
            # Imported here: it loads numpy, which takes longer than the model itself.
            from mcp_memory_server.adapters.built_in.static_model import load_potion

            self._model = load_potion()
        return self._model
