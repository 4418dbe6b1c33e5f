"""The vectors of the fine model, which are made in the background: waiting for them, and not making them twice."""

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

from mcp_memory_server import Memory, Scope, Settings
from mcp_memory_server.adapters.multilingual_e5.embedder import DIMENSIONS, MODEL, MultilingualE5Embedder
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.embeddings import FINE_EMBEDDED_BY
from mcp_memory_server.wiring import embeddings as chosen_models


async def all_embedded(memory: Memory, scope: Scope) -> None:
    """Wait until every fact has its fine vector, if that model is in use. A recall must have asked for it."""
    partition = keys.partition_of(scope)
    while Settings().embeddings == "built-in":
        page = await memory.table.query(partition, prefix=keys.ANY_FACTS, limit=None)
        if all(FINE_EMBEDDED_BY in item.body for item in page.items):
            return
        await asyncio.sleep(min(0.5, 0.02 + len(page.items) / 5_000))  # reading many takes time from the model


@contextmanager
def embedded_once() -> Iterator[None]:
    """Let each fact be embedded once, however many stores it is in. Questions are always embedded anew."""
    with patch.object(chosen_models, "built_in_fine_embedder", EmbeddedOnce):
        yield


@contextmanager
def embedded_in_no_time() -> Iterator[None]:
    """Fill stores without the fine model."""
    with patch.object(chosen_models, "built_in_fine_embedder", QuickFineEmbedder):
        yield


class EmbeddedOnce(MultilingualE5Embedder):
    """The fine model, with the vectors of all passages of this process at hand."""

    _known: dict[str, bytes] = {}  # noqa: RUF012 - shared on purpose

    async def embed(self, texts: Sequence[str], *, as_question: bool = False) -> Sequence[bytes]:
        if as_question:
            return await super().embed(texts, as_question=True)
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, await super().embed(new), strict=True))
        return [self._known[text] for text in texts]


class QuickFineEmbedder:
    """Stands for the fine model while a store is filled: vectors of its size, without meaning, in no time.

    With the model itself 100,000 facts would take twenty minutes, and a search takes as long whatever vectors say.
    """

    model = MODEL
    dimensions = DIMENSIONS
    runs_here = True
    is_loaded = True

    def prepare(self) -> None:
        """There is nothing to load."""

    async def embed(self, texts: Sequence[str], *, as_question: bool = False) -> Sequence[bytes]:  # noqa: ARG002
        return [hashlib.shake_128(text.encode()).digest(DIMENSIONS) for text in texts]

    async def close(self) -> None:
        """There is nothing to let go of."""
