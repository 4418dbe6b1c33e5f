"""Static models that the model2vec package loads from a folder."""

import asyncio
from pathlib import Path

from model2vec import StaticModel

from mcp_memory_server.adapters.model_folders.embedder import FolderEmbedder, model_name
from mcp_memory_server.domain.kernel.vectors import as_vector
from mcp_memory_server.errors import ConfigurationError

TEXTS_PER_TASK = 100
"""A text takes less time than a change of threads; this many still take a few milliseconds only."""

_DATA = "*.safetensors"
_TEXTS = "*.json"


async def open_model2vec(folder: Path) -> FolderEmbedder:
    """Load the model of a folder. The caller closes it.

    Raises:
        ConfigurationError: The folder has no model that can be loaded.
    """
    model, name = await asyncio.to_thread(_load, folder)
    return FolderEmbedder(_Model(model), name, texts_per_task=TEXTS_PER_TASK)


class _Model:
    def __init__(self, model: StaticModel) -> None:
        self._model = model
        self.dimensions: int = model.dim

    def vector(self, text: str, *, as_question: bool) -> bytes:  # noqa: ARG002 - questions and texts share one space
        # Each by itself: a batch takes as much memory as its longest text times their number.
        (numbers,) = self._model.encode([text], use_multiprocessing=False)
        return as_vector(numbers.tolist())


def _load(folder: Path) -> tuple[StaticModel, str]:
    if not folder.is_dir():
        # The package would take it for the name of a model to be downloaded.
        raise ConfigurationError(f"{str(folder)!r} is no folder; name one that holds model.safetensors")
    try:
        files = sorted([*folder.rglob(_DATA), *folder.rglob(_TEXTS)])
        return StaticModel.from_pretrained(folder), model_name("model2vec", files)
    except Exception as error:  # the tokenizer raises nothing narrower
        raise ConfigurationError(
            f"{str(folder)!r} holds no model that model2vec can load; it needs model.safetensors, tokenizer.json and "
            "config.json"
        ) from error
