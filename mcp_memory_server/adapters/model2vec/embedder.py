"""Vectors from a static model in a folder of this machine. Nothing is downloaded."""

import asyncio
import hashlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from model2vec import StaticModel

from mcp_memory_server.domain.kernel.vectors import as_vector
from mcp_memory_server.errors import ConfigurationError, UnavailableError

_DATA = "*.safetensors"
_TEXTS = "*.json"
_NAME_LETTERS = 16


async def open_model2vec(folder: Path) -> "Model2VecEmbedder":
    """Load the model of a folder. Whoever opens it closes it.

    Raises:
        ConfigurationError: The folder has no model that can be loaded.
    """
    model, name = await asyncio.to_thread(_load, folder)
    return Model2VecEmbedder(model, name)


class Model2VecEmbedder:
    """Answers the port with a static model. Its name is made of its data, so that it may be moved."""

    def __init__(self, model: StaticModel, name: str) -> None:
        self._model = model
        self._name = name
        # One thread: the tokenizer is told before each text how much of it to read.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model2vec")

    @property
    def model(self) -> str:
        """See the port."""
        return self._name

    @property
    def dimensions(self) -> int:
        """See the port."""
        return self._model.dim

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

    async def embed(self, texts: Sequence[str], *, as_question: bool = False) -> Sequence[bytes]:  # noqa: ARG002
        """See the port. A question lies where its answer does."""
        return await asyncio.wrap_future(self._submit(texts))

    async def close(self) -> None:
        """See the port."""
        self._thread.shutdown(wait=False)

    def _submit(self, texts: Sequence[str]) -> Future[list[bytes]]:
        try:
            return self._thread.submit(lambda: [self._vector(text) for text in texts])
        except RuntimeError as error:
            raise UnavailableError(f"{self._name} was closed") from error

    def _vector(self, text: str) -> bytes:
        # Each by itself: a batch takes as much memory as its longest text times their number. The tokenizer takes no
        # halves of surrogate pairs.
        (numbers,) = self._model.encode([text.encode("utf-8", "ignore").decode()], use_multiprocessing=False)
        return as_vector(numbers.tolist())


def _load(folder: Path) -> tuple[StaticModel, str]:
    if not folder.is_dir():
        # The package would take it for the name of a model to be downloaded.
        raise ConfigurationError(f"{str(folder)!r} is no folder; name one that holds model.safetensors")
    try:
        return StaticModel.from_pretrained(folder), _name(folder)
    except Exception as error:  # the tokenizer raises nothing narrower
        raise ConfigurationError(
            f"{str(folder)!r} holds no model that model2vec can load; it needs model.safetensors, tokenizer.json and "
            "config.json"
        ) from error


def _name(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted([*folder.rglob(_DATA), *folder.rglob(_TEXTS)]):
        with file.open("rb") as data:
            digest.update(hashlib.file_digest(data, "sha256").digest())
    return f"model2vec/{digest.hexdigest()[:_NAME_LETTERS]}"
