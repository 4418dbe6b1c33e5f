"""Encode the vectors of a text as attributes beside it, each with its model and a checksum of the text."""

import zlib
from dataclasses import dataclass

from mcp_memory_server.domain.kernel.items import Body, Value
from mcp_memory_server.domain.kernel.vectors import Vectors

_CHECK_BYTES = 4


@dataclass(frozen=True)
class Models:
    """The names of the embedding models in use; None for a model that is not used."""

    coarse: str | None = None
    fine: str | None = None


NO_MODELS = Models()

EMBEDDING, EMBEDDED_BY = "embedding", "embedded_by"
FINE_EMBEDDING, FINE_EMBEDDED_BY = "fine_embedding", "fine_embedded_by"
_COARSE = (EMBEDDING, EMBEDDED_BY)
_FINE = (FINE_EMBEDDING, FINE_EMBEDDED_BY)
ATTRIBUTES = _COARSE
"""The attributes of a turn, which has a coarse vector only."""


ALL_ATTRIBUTES = (*_COARSE, *_FINE)
"""The attributes of a memory with both vectors."""


def embedding_body(text: str, vectors: Vectors, models: Models) -> dict[str, Value]:
    """Return the attributes that hold the vectors of a text."""
    body: dict[str, Value] = {}
    for (attribute, by), vector, model in _pairs(vectors, models):
        if vector is not None and model is not None:
            body |= {attribute: _check(text) + vector, by: model}
    return body


def embedding_from(body: Body, text: str, models: Models) -> Vectors:
    """Return the stored vectors, without those made by another model or for a text that was changed since."""
    return Vectors(_stored(body, _COARSE, text, models.coarse), _stored(body, _FINE, text, models.fine))


def _pairs(vectors: Vectors, models: Models) -> tuple[tuple[tuple[str, str], bytes | None, str | None], ...]:
    return (_COARSE, vectors.coarse, models.coarse), (_FINE, vectors.fine, models.fine)


def _stored(body: Body, names: tuple[str, str], text: str, model: str | None) -> bytes | None:
    attribute, by = names
    stored = body.get(attribute)
    if model is None or not isinstance(stored, bytes) or body.get(by) != model or stored[:_CHECK_BYTES] != _check(text):
        return None
    return stored[_CHECK_BYTES:]


def _check(text: str) -> bytes:
    return zlib.crc32(text.encode()).to_bytes(_CHECK_BYTES)
