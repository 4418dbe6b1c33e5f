"""Vectors from a model that was loaded from a folder. Nothing is downloaded."""

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from mcp_memory_server.errors import UnavailableError

NAME_LETTERS = 16


class LoadedModel(Protocol):
    """A model in memory. It is used from one thread at a time."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    def vector(self, text: str, *, as_question: bool) -> bytes:
        """Return the vector of the text, zeros for a blank one."""
        ...


class FolderEmbedder:
    """Answers the port with a loaded model, in one thread, because a tokenizer keeps state between its calls.

    ``texts_per_task`` is how many texts the thread embeds before it serves the next caller.
    """

    def __init__(self, model: LoadedModel, name: str, *, texts_per_task: int) -> None:
        self._model = model
        self._name = name
        self._texts_per_task = texts_per_task
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name.partition("/")[0])

    @property
    def model(self) -> str:
        """See the port."""
        return self._name

    @property
    def dimensions(self) -> int:
        """See the port."""
        return self._model.dimensions

    @property
    def runs_here(self) -> bool:
        """See the port."""
        return True

    @property
    def is_loaded(self) -> bool:
        """See the port."""
        return True

    def prepare(self) -> None:
        """See the port. There is nothing to load."""

    async def embed(self, texts: Sequence[str], *, as_question: bool = False) -> Sequence[bytes]:
        """See the port."""
        vectors: list[bytes] = []
        for start in range(0, len(texts), self._texts_per_task):
            group = texts[start : start + self._texts_per_task]
            vectors += await asyncio.wrap_future(self._submit(group, as_question=as_question))
        return vectors

    async def close(self) -> None:
        """See the port."""
        self._thread.shutdown(wait=False)

    def _submit(self, texts: Sequence[str], *, as_question: bool) -> Future[list[bytes]]:
        # The tokenizers take no halves of surrogate pairs.
        readable = [text.encode("utf-8", "ignore").decode() for text in texts]
        try:
            return self._thread.submit(lambda: [self._model.vector(text, as_question=as_question) for text in readable])
        except RuntimeError as error:
            raise UnavailableError(f"{self._name} was closed") from error


def model_name(library: str, files: Iterable[Path]) -> str:
    """Return a name made of the contents of the files, so that a model keeps its name when its folder is moved."""
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as data:
            digest.update(hashlib.file_digest(data, "sha256").digest())
    return f"{library}/{digest.hexdigest()[:NAME_LETTERS]}"
