"""Sentence transformers in ONNX form, run by onnxruntime: one vector for each token makes one for the text."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnxruntime import InferenceSession, SessionOptions  # pyright: ignore[reportAttributeAccessIssue]
from tokenizers import Tokenizer

from mcp_memory_server.adapters.model_folders.embedder import FolderEmbedder
from mcp_memory_server.adapters.model_folders.onnx_folder import OnnxFolder, read_folder
from mcp_memory_server.domain.kernel.vectors import as_vector
from mcp_memory_server.errors import ConfigurationError, MemoryServerError

TEXTS_PER_TASK = 1
"""One text after another, so that a question need not wait until a thousand memories are embedded."""


async def open_onnx(folder: Path) -> FolderEmbedder:
    """Load the model of a folder and try it. The caller closes it.

    Raises:
        ConfigurationError: The folder has no model that can be run.
    """
    transformer, name = await asyncio.to_thread(_load, folder)
    return FolderEmbedder(transformer, name, texts_per_task=TEXTS_PER_TASK)


class Transformer:
    """A loaded model. It may be used from one thread at a time."""

    def __init__(self, folder: OnnxFolder) -> None:
        self._folder = folder
        self._tokenizer: Any = Tokenizer.from_file(str(folder.tokenizer))
        self._tokenizer.enable_truncation(folder.max_tokens)
        self._tokenizer.no_padding()
        self._session = InferenceSession(folder.network, _options(), providers=["CPUExecutionProvider"])
        self._inputs = {one.name for one in self._session.get_inputs()}
        self.dimensions = len(self._numbers("a"))

    def vector(self, text: str, *, as_question: bool) -> bytes:
        """Return the vector of the text, zeros for a blank one.

        Each is run by itself: in a batch the others would change its vector a little, and save no time.
        """
        if not text.strip():
            return bytes(self.dimensions)
        before = self._folder.before_question if as_question else self._folder.before_text
        return as_vector(self._numbers(before + text).tolist())

    def _numbers(self, text: str) -> NDArray[np.float32]:
        tokens = self._tokenizer.encode(text)
        given = {
            "input_ids": [tokens.ids],
            "attention_mask": [tokens.attention_mask],
            "token_type_ids": [tokens.type_ids],
        }
        inputs = {name: np.array(numbers, np.int64) for name, numbers in given.items() if name in self._inputs}
        # The first output is that of the tokens, except where a network already makes a vector for the text.
        first: Any = self._session.run(None, inputs)[0]
        (output,) = np.asarray(first, np.float32)
        if output.ndim == 1:
            return output
        return output[0] if self._folder.takes_first_token else output.mean(axis=0)


def _load(folder: Path) -> tuple[Transformer, str]:
    try:
        description = read_folder(folder)
        return Transformer(description), description.name
    except MemoryServerError:
        raise
    except Exception as error:  # the tokenizer and the runtime have no narrower exception in common
        raise ConfigurationError(f"{str(folder)!r} holds no sentence transformer that can be run") from error


def _options() -> SessionOptions:
    options = SessionOptions()
    # More threads would spin while they wait for work, at the expense of the server.
    options.intra_op_num_threads = 1
    return options
