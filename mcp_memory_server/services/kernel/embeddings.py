"""Embeddings: the vectors of a text, stored beside it, and those of a question."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from mcp_memory_server.domain.kernel.items import Value
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.errors import MemoryServerError, UnavailableError
from mcp_memory_server.ports.embedder import Embedder
from mcp_memory_server.ports.known_words import KnownWords
from mcp_memory_server.schema.embeddings import Models, embedding_body
from mcp_memory_server.schema.vector_entries import entry_body

LONGEST_WAIT_SECONDS = 1.0
"""A question waits so long for its fine vector: while the model is being loaded, answers do without it."""
LONGEST_WAIT_OF_WORDS_SECONDS = 0.1
"""What a user says to an agent waits so long: a hundred agents may ask at once, and each does so with every turn."""
LONGEST_WAIT_OF_A_WRITE_SECONDS = 0.25
"""A write waits so long for its vector: an import may have filled the queue of the model."""

logger = logging.getLogger(__name__)


class Embeddings:
    """Asks the models. One that does not answer costs what it would have added, never a memory or an answer.

    The coarse model gives every text a vector. The fine one is better and takes a hundred times as long: it is for
    questions, and in the background for memories that are short.
    """

    def __init__(
        self,
        embedder: Embedder | None = None,
        fine: Embedder | None = None,
        *,
        known_words: KnownWords | None = None,
        enter_turns: bool = False,
    ) -> None:
        """With ``enter_turns``, what is stored beside a turn also enters it in a vector index.

        ``known_words`` has vectors of the fine model for single words.
        """
        self._embedder = embedder
        self._fine = fine
        self._known_words = known_words
        self.enter_turns = enter_turns and embedder is not None

    @property
    def model(self) -> str | None:
        """The name of the coarse model, None if there is none."""
        return self.models.coarse

    @property
    def models(self) -> Models:
        """The names of the models."""
        return Models(*(None if model is None else model.model for model in (self._embedder, self._fine)))

    @property
    def run_here(self) -> bool:
        """Whether there is a coarse model, and it runs in this process."""
        return self._embedder is not None and self._embedder.runs_here

    def prepare(self) -> None:
        """Begin to load the models, and return at once."""
        for model in (self._embedder, self._fine):
            if model is not None and not model.is_loaded:
                model.prepare()

    async def beside(self, text: str, *, with_fine: bool = True) -> dict[str, Value]:
        """Return what is stored beside a text; nothing if that would take time, and then it is added later.

        Nobody waits for another service, or for a model to be loaded, in order to remember. Whoever writes many texts
        at once leaves the fine vectors to the background.
        """
        fine = await _at_once(self._fine, text) if with_fine else None
        return embedding_body(text, Vectors(await _at_once(self._embedder, text), fine), self.models)

    async def beside_turn(self, scope: Scope, text: str) -> dict[str, Value]:
        """Return what is stored beside the text of a turn, which may be in a vector index too."""
        vector = await _at_once(self._embedder, text)
        return {} if vector is None else self.stored_with_turn(scope.user_id, text, vector)

    def stored_with_turn(self, user_id: str, text: str, vector: bytes) -> dict[str, Value]:
        """Return what is stored beside the text of a turn that has this vector."""
        entry = entry_body(user_id, vector, self.model or "") if self.enter_turns else {}
        return {**embedding_body(text, Vectors(vector), self.models), **entry}

    async def of_texts(self, texts: Sequence[str]) -> Sequence[bytes]:
        """Return the coarse vectors of texts.

        Raises:
            UnavailableError: The model cannot be asked now.
        """
        if self._embedder is None:
            raise UnavailableError("there is no model for embeddings")
        return await self._embedder.embed(texts)

    async def fine_of_texts(self, texts: Sequence[str]) -> Sequence[bytes | None]:
        """Return the fine vectors of texts; none if there is no such model, or it does not answer."""
        nothing = [None] * len(texts)
        if self._fine is None or not texts:
            return nothing
        try:
            return await self._fine.embed(texts)
        except MemoryServerError:
            logger.warning("the model %s cannot be used", self._fine.model, exc_info=True)
            return nothing

    async def of_questions(
        self, questions: Sequence[str], *, with_fine: bool = True, longest_wait: float = LONGEST_WAIT_SECONDS
    ) -> list[Vectors]:
        """Return the vectors of questions, as far as the models answer in time.

        ``with_fine`` is left out where there are only turns to find, which have no fine vectors.
        """
        coarse, fine = await asyncio.gather(
            _asked(self._embedder, questions, None),
            _asked(self._fine if with_fine else None, questions, longest_wait),
        )
        return [Vectors(*both) for both in zip(coarse, fine, strict=True)]

    async def of_question(self, question: str) -> Vectors:
        """Return the vectors of one question."""
        return (await self.of_questions([question]))[0]

    async def of_words(self, words: str) -> Vectors:
        """Return the vectors of what a user says, without running the fine model where its words are known.

        For each turn of a conversation: that takes a hundredth of the time, and finds a little less.
        """
        at_once = None if self._known_words is None else self._known_words.vector(words)
        (found,) = await self.of_questions(
            [words], with_fine=at_once is None, longest_wait=LONGEST_WAIT_OF_WORDS_SECONDS
        )
        return found if at_once is None else replace(found, fine=at_once)

    async def close(self) -> None:
        """Let go of the models."""
        for model in (self._embedder, self._fine):
            if model is not None:
                await model.close()


async def _asked(model: Embedder | None, questions: Sequence[str], longest_wait: float | None) -> list[bytes | None]:
    if model is None:
        return [None] * len(questions)
    try:
        async with asyncio.timeout(longest_wait):
            return list(await model.embed(questions, as_question=True))
    except TimeoutError:
        logger.info("the model %s is not ready: recall goes on without it", model.model)
    except MemoryServerError:
        logger.warning("the model %s does not answer: recall goes on without it", model.model, exc_info=True)
    return [None] * len(questions)


async def _at_once(model: Embedder | None, text: str) -> bytes | None:
    """Return the vector of a text, None if it would take time: then it is made in the background."""
    if model is None:
        return None
    if not model.is_loaded:
        model.prepare()
        return None
    try:
        async with asyncio.timeout(LONGEST_WAIT_OF_A_WRITE_SECONDS):
            (vector,) = await model.embed([text])
    except TimeoutError:
        return None  # many texts wait for it just now
    except MemoryServerError:
        logger.warning("the model %s does not answer: the memory is saved without its vector", model.model)
        return None
    return vector
