"""Vectors from Titan Text Embeddings or Cohere Embed."""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from mcp_memory_server.adapters.bedrock.address import MAX_REQUESTS_AT_ONCE, ModelAddress, connector
from mcp_memory_server.adapters.bedrock.calls import Calls
from mcp_memory_server.adapters.bedrock.models import Family, family_of
from mcp_memory_server.domain.kernel.vectors import as_vector
from mcp_memory_server.errors import ConfigurationError, TooLargeError, UnavailableError

DEADLINE = timedelta(seconds=5)
"""The deadline of one request. Many texts take several requests, some of them in parallel."""

_FEWEST_CHARACTERS = 500
"""A text of this length is never too long for a model."""

T = TypeVar("T")


def open_bedrock(
    model_id: str,
    *,
    region: str | None = None,
    endpoint: str | None = None,
    dimensions: int | None = None,
    deadline: timedelta = DEADLINE,
) -> "BedrockEmbedder":
    """Return the embedder, without a request: a missing permission or credential shows when it is first used.

    Raises:
        ConfigurationError: The model is not known, has no vectors of this length, or the endpoint cannot be one.
    """
    family = family_of(model_id)
    length = dimensions or family.dimensions[0]
    if length not in family.dimensions:
        choices = " or ".join(map(str, family.dimensions))
        raise ConfigurationError(f"the vectors of {model_id!r} have {choices} dimensions, not {length}")
    address = ModelAddress(model_id, region, endpoint)
    return BedrockEmbedder(Calls(address, connector(address, deadline), deadline=deadline), family, length)


class BedrockEmbedder:
    """Answers the port with a model of Bedrock. Requests cost money, so a blank text is not sent."""

    def __init__(self, calls: Calls, family: Family, dimensions: int) -> None:
        self._calls = calls
        self._family = family
        self._dimensions = dimensions

    @property
    def model(self) -> str:
        """See the port."""
        return f"bedrock/{self._calls.address.model_id}/{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """See the port."""
        return self._dimensions

    @property
    def runs_here(self) -> bool:
        """See the port."""
        return False

    @property
    def is_loaded(self) -> bool:
        """See the port. A remote service is never loaded."""
        return False

    def prepare(self) -> None:
        """See the port. There is nothing to load."""

    async def embed(self, texts: Sequence[str], *, as_question: bool = False) -> Sequence[bytes]:
        """See the port."""
        beginnings = [_sendable(text)[: self._family.most_characters] for text in texts]
        batches = list(_slices([text for text in beginnings if text], self._family.most_texts))
        vectors: list[bytes] = []
        for some in _slices(batches, MAX_REQUESTS_AT_ONCE):
            for answer in await asyncio.gather(*(self._ask(batch, as_question=as_question) for batch in some)):
                vectors.extend(answer)
        found = iter(vectors)
        return [next(found) if text else bytes(self._dimensions) for text in beginnings]

    async def close(self) -> None:
        """See the port."""
        await self._calls.close()

    async def _ask(self, texts: Sequence[str], *, as_question: bool) -> list[bytes]:
        """Return the vectors of a batch. While a text is too long, it is shortened and sent again."""
        longest = max(map(len, texts))
        while True:
            question = self._family.question(texts, self._dimensions, as_question=as_question)
            try:
                return self._read(await self._calls.invoke(question), len(texts))
            except TooLargeError as error:
                if longest <= _FEWEST_CHARACTERS:
                    raise UnavailableError(f"{self._calls.address} rejects a short text as too long") from error
                longest //= 2
                texts = [text[:longest] for text in texts]

    def _read(self, answer: Any, count: int) -> list[bytes]:
        try:
            vectors = [as_vector(numbers) for numbers in self._family.vectors(answer)]
        except (LookupError, TypeError) as error:
            raise self._misunderstood() from error
        if [len(vector) for vector in vectors] != [self._dimensions] * count:
            raise self._misunderstood()
        return vectors

    def _misunderstood(self) -> UnavailableError:
        return UnavailableError(f"{self._calls.address} returned vectors that do not have {self._dimensions} numbers")


def _sendable(text: str) -> str:
    """Return the text without halves of surrogate pairs and without white space around it."""
    return text.encode("utf-8", "ignore").decode().strip()


def _slices(things: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    return (things[start : start + most] for start in range(0, len(things), most))
