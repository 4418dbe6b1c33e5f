"""How the vector of a text lies beside it: with the name of its model, and a check that it is of this very text."""

import zlib

from mcp_memory_server.domain.items import Body, Value

EMBEDDING, EMBEDDED_BY = "embedding", "embedded_by"
ATTRIBUTES = (EMBEDDING, EMBEDDED_BY)

_CHECK_BYTES = 4


def embedding_body(text: str, vector: bytes, model: str) -> dict[str, Value]:
    """Return what is stored beside a text."""
    return {EMBEDDING: _check(text) + vector, EMBEDDED_BY: model}


def embedding_from(body: Body, text: str, model: str) -> bytes | None:
    """Return the stored vector, None if there is none of this model, or the text was changed since it was made."""
    stored = body.get(EMBEDDING)
    if not isinstance(stored, bytes) or body.get(EMBEDDED_BY) != model or stored[:_CHECK_BYTES] != _check(text):
        return None
    return stored[_CHECK_BYTES:]


def _check(text: str) -> bytes:
    return zlib.crc32(text.encode()).to_bytes(_CHECK_BYTES)
