"""Embeddings: the vector of a text, stored beside it, and that of a question."""

import logging
from collections.abc import Sequence

from mcp_memory_server.domain.items import Value
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.errors import UnavailableError
from mcp_memory_server.ports.embedder import Embedder
from mcp_memory_server.schema.embeddings import embedding_body
from mcp_memory_server.schema.vector_entries import entry_body

logger = logging.getLogger(__name__)


class Embeddings:
    """Asks one model. A model that does not answer costs what it would have added, never a memory or an answer."""

    def __init__(self, embedder: Embedder | None = None, *, enter_turns: bool = False) -> None:
        """With ``enter_turns``, what is stored beside a turn also enters it in a vector index."""
        self._embedder = embedder
        self.enter_turns = enter_turns and embedder is not None

    @property
    def model(self) -> str | None:
        """The name of the model, None if there is none."""
        return None if self._embedder is None else self._embedder.model

    @property
    def run_here(self) -> bool:
        """Whether there is a model, and it runs in this process."""
        return self._embedder is not None and self._embedder.runs_here

    async def beside(self, text: str) -> dict[str, Value]:
        """Return what is stored beside a text; nothing if that would take time, and then it is added later.

        Nobody waits for another service, or for a model to be loaded, in order to remember.
        """
        vector = await self._at_once(text)
        return {} if vector is None else embedding_body(text, vector, self.model or "")

    async def beside_turn(self, scope: Scope, text: str) -> dict[str, Value]:
        """Return what is stored beside the text of a turn, which may be in a vector index too."""
        vector = await self._at_once(text)
        return {} if vector is None else self.stored_with_turn(scope.user_id, text, vector)

    def stored_with_turn(self, user_id: str, text: str, vector: bytes) -> dict[str, Value]:
        """Return what is stored beside the text of a turn that has this vector."""
        entry = entry_body(user_id, vector, self.model or "") if self.enter_turns else {}
        return {**embedding_body(text, vector, self.model or ""), **entry}

    async def of_texts(self, texts: Sequence[str]) -> Sequence[bytes]:
        """Return the vectors of texts.

        Raises:
            UnavailableError: The model cannot be asked now.
        """
        if self._embedder is None:
            raise UnavailableError("there is no model for embeddings")
        return await self._embedder.embed(texts)

    async def of_question(self, question: str) -> bytes | None:
        """Return the vector of a question; None if there is no model, or it does not answer."""
        if self._embedder is None:
            return None
        try:
            (vector,) = await self._embedder.embed([question], as_question=True)
        except UnavailableError:
            logger.warning("the model for embeddings does not answer: recall goes by words alone", exc_info=True)
            return None
        return vector

    async def _at_once(self, text: str) -> bytes | None:
        if self._embedder is None:
            return None
        if not self._embedder.is_at_hand:
            self._embedder.prepare()
            return None
        (vector,) = await self._embedder.embed([text])
        return vector

    async def close(self) -> None:
        """Let go of the model."""
        if self._embedder is not None:
            await self._embedder.close()
