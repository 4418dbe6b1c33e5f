"""Turns as memories, found and returned like all others."""

import hashlib
import re
from datetime import datetime

from mcp_memory_server.domain.kernel.text import fingerprint, short_id
from mcp_memory_server.domain.kernel.vectors import NO_VECTORS, Vectors
from mcp_memory_server.domain.language.mentions import matches_sketch
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot
from mcp_memory_server.domain.sessions.turns import Turn

TURN_ID_PREFIX = "t-"

_END_OF_SENTENCE = re.compile(r"(?<=[.!?。！？\n])\s*")  # noqa: RUF001 - also the full stops of other scripts


def turn_memory_id(session_id: str, turn_id: str) -> str:
    """Return the public id of a turn: short, because it costs tokens in every reply."""
    return TURN_ID_PREFIX + short_id(hashlib.sha256(f"{turn_id} {session_id}".encode()).digest())


def from_turn(session_id: str, turn: Turn, expires_at: datetime | None, vectors: Vectors = NO_VECTORS) -> StoredMemory:
    """Return the turn as a memory."""
    at = turn.at
    return StoredMemory(
        id=turn_memory_id(session_id, turn.id),
        kind=Kind.TURN,
        text=turn.content,
        topic=None,
        since=at,
        said_at=at,
        expires_at=expires_at,
        support=1,
        speaker=turn.speaker or turn.role.value,
        session_id=session_id,
        origin=turn.source_id,
        importance=turn.importance,
        vectors=vectors,
    )


def is_withheld(memory: StoredMemory, snapshot: UserSnapshot) -> bool:
    """Check whether the text or one of its sentences was forgotten. The conversation keeps it, but recall does not
    return it.

    What a turn said before the statement was forgotten is also withheld if it says much the same in other words. What
    was said later is new.
    """
    if not snapshot.forgotten:
        return False
    sentences = list(filter(None, [memory.text, *_END_OF_SENTENCE.split(memory.text)]))
    if memory.id in snapshot.forgotten or any(fingerprint(sentence) in snapshot.forgotten for sentence in sentences):
        return True
    if memory.kind is not Kind.TURN:
        return False
    return any(
        memory.said_at <= tombstone.forgotten_at
        and any(matches_sketch(sentence, tombstone.sketch) for sentence in sentences)
        for tombstone in snapshot.tombstones.values()
        if tombstone.sketch
    )
