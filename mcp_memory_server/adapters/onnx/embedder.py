"""Vectors from a sentence transformer in a folder of this machine. Nothing is downloaded."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from mcp_memory_server.adapters.onnx.folder import read_folder
from mcp_memory_server.adapters.onnx.transformer import Transformer
from mcp_memory_server.errors import ConfigurationError, MemoryServerError, UnavailableError


async def open_onnx(folder: Path) -> "OnnxEmbedder":
    """Load the model of a folder and try it. Whoever opens it closes it.

    Raises:
        ConfigurationError: The folder has no model that can be run.
    """
    transformer, name = await asyncio.to_thread(_load, folder)
    return OnnxEmbedder(transformer, name)


class OnnxEmbedder:
    """Answers the port with a transformer. Its name is made of its data, so that it may be moved."""

    def __init__(self, transformer: Transformer, name: str) -> None:
        self._transformer = transformer
        self._name = name
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="onnx")

    @property
    def model(self) -> str:
        """See the port."""
        return self._name

    @property
    def dimensions(self) -> int:
        """See the port."""
        return self._transformer.dimensions

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
        # One text after another, so that a question need not wait until a thousand memories are done.
        return [await asyncio.wrap_future(self._submit(text, as_question=as_question)) for text in texts]

    async def close(self) -> None:
        """See the port."""
        self._thread.shutdown(wait=False)

    def _submit(self, text: str, *, as_question: bool) -> Future[bytes]:
        try:
            return self._thread.submit(self._transformer.vector, text, as_question=as_question)
        except RuntimeError as error:
            raise UnavailableError(f"{self._name} was closed") from error


def _load(folder: Path) -> tuple[Transformer, str]:
    try:
        description = read_folder(folder)
        return Transformer(description), description.name
    except MemoryServerError:
        raise
    except Exception as error:  # the tokenizer and the runtime have no narrower one in common
        raise ConfigurationError(f"{str(folder)!r} holds no sentence transformer that can be run") from error
