"""Request and reply formats of the embedding models of Bedrock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mcp_memory_server.errors import ConfigurationError

KNOWN_MODELS = "amazon.titan-embed-text-v2:0, cohere.embed-english-v3, cohere.embed-multilingual-v3, cohere.embed-v4:0"


class Family(Protocol):
    """Models with the same format."""

    @property
    def dimensions(self) -> Sequence[int]:
        """The lengths that its vectors may have, the default first."""
        ...

    @property
    def most_texts(self) -> int:
        """The largest number of texts in one request."""
        ...

    @property
    def most_characters(self) -> int:
        """The number of characters of a text that are sent."""
        ...

    def question(self, texts: Sequence[str], dimensions: int, *, as_question: bool) -> Mapping[str, Any]:
        """Return the body of a request."""
        ...

    def vectors(self, answer: Any) -> Sequence[Sequence[float]]:
        """Return the vectors of a reply, in the order of the texts; raise LookupError or TypeError without them."""
        ...


@dataclass(frozen=True)
class Titan:
    """Titan Text Embeddings V2. It accepts 8,192 tokens; how many characters that is depends on the language."""

    dimensions: tuple[int, ...] = (256, 512, 1024)
    most_texts: int = 1
    most_characters: int = 24_000

    def question(self, texts: Sequence[str], dimensions: int, *, as_question: bool) -> Mapping[str, Any]:  # noqa: ARG002
        """See the protocol. Titan embeds questions and texts alike."""
        (text,) = texts
        return {"inputText": text, "dimensions": dimensions, "normalize": True}

    def vectors(self, answer: Any) -> Sequence[Sequence[float]]:
        """See the protocol."""
        return [answer["embedding"]]


@dataclass(frozen=True)
class Cohere:
    """Cohere Embed, third version: one length of vectors, short texts."""

    dimensions: tuple[int, ...] = (1024,)
    most_texts: int = 96
    most_characters: int = 2_048

    def question(self, texts: Sequence[str], dimensions: int, *, as_question: bool) -> Mapping[str, Any]:  # noqa: ARG002
        """See the protocol."""
        return {"texts": list(texts), "input_type": _input_type(as_question=as_question), "truncate": "END"}

    def vectors(self, answer: Any) -> Sequence[Sequence[float]]:
        """See the protocol. They are nested one level deeper in a reply with several kinds of vectors."""
        embeddings = answer["embeddings"]
        return embeddings["float"] if isinstance(embeddings, dict) else embeddings


@dataclass(frozen=True)
class Cohere4(Cohere):
    """Cohere Embed, fourth version: the length of vectors is chosen, and texts may be long."""

    dimensions: tuple[int, ...] = (256, 512, 1024, 1536)
    most_characters: int = 24_000

    def question(self, texts: Sequence[str], dimensions: int, *, as_question: bool) -> Mapping[str, Any]:
        """See the protocol."""
        return {
            "texts": list(texts),
            "input_type": _input_type(as_question=as_question),
            "embedding_types": ["float"],
            "output_dimension": dimensions,
            "truncate": "RIGHT",
        }


_FAMILIES: Mapping[str, Family] = {
    "titan-embed-text-v2": Titan(),
    "cohere.embed-v4": Cohere4(),
    "cohere.embed-english-v3": Cohere(),
    "cohere.embed-multilingual-v3": Cohere(),
}


def family_of(model_id: str) -> Family:
    """Return the format of a model. The id may be that of an inference profile, or an ARN that contains it.

    Raises:
        ConfigurationError: The model is not known.
    """
    for name, family in _FAMILIES.items():
        if name in model_id:
            return family
    raise ConfigurationError(f"the model must be one of {KNOWN_MODELS}, got {model_id!r}")


def _input_type(*, as_question: bool) -> str:
    return "search_query" if as_question else "search_document"
