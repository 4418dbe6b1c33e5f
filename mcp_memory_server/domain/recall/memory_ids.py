"""Ids of memories as a reader meets and types them: whole, or by a beginning that only one of them has."""

from mcp_memory_server.domain.recall.memories import StoredMemory, UserSnapshot
from mcp_memory_server.errors import InvalidRequestError

SHORTEST_PREFIX = 8
"""Letters of 5 bits each: among 100,000 memories of one user, two share them once in 200 users."""
WHOLE_ID = 12
MOST_NAMED = 5


def short_id(memory: StoredMemory) -> str:
    """Return what names the memory on a page: for facts the beginning of their id, which is random from the start."""
    return memory.id if memory.fact is None else memory.id[:SHORTEST_PREFIX]


def resolved_id(given: str, known: UserSnapshot) -> str:
    """Return the id that is meant: this one, or the only one that begins so; what names nothing is returned as it is.

    Raises:
        InvalidRequestError: Several ids begin so.
    """
    if not SHORTEST_PREFIX <= len(given) < WHOLE_ID:
        return given
    found = {memory.id for memory in known.rows if memory.id.startswith(given)}
    if given in found or not found:
        return given
    if len(found) > 1:
        named = ", ".join(sorted(found)[:MOST_NAMED])
        raise InvalidRequestError(f"several ids begin with {given!r}: {named}; give the whole id")
    return found.pop()
