"""Convert memories of every kind into documents of a search index."""

from mcp_memory_server.domain.facts.fact import Source
from mcp_memory_server.domain.recall.documents import USER, Document
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory

LONGEST_SEARCHED = 20_000
"""Characters of a text that are searched. What comes later in a text is returned, but not found by its words."""


def document_of(document_id: str, memory: StoredMemory) -> Document:
    """Return the memory as a document. A turn belongs to its session; everything else stands alone."""
    return Document(
        id=document_id,
        text=memory.text[:LONGEST_SEARCHED],
        kind=memory.kind.value,
        at=memory.said_at,
        speaker=memory.speaker or _speaker(memory),
        session=memory.session_id if memory.kind is Kind.TURN else None,
        topic=memory.topic,
        is_past=memory.kind is Kind.PAST,
    )


def _speaker(memory: StoredMemory) -> str | None:
    if memory.kind is Kind.PREFERENCE or (memory.fact is not None and memory.fact.source is not Source.INFERRED):
        return USER
    return None
