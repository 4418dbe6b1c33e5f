"""Ids of memories as users type them: whole, or a unique prefix."""

from mcp_memory_server.domain.recall.memories import StoredMemory, UserSnapshot
from mcp_memory_server.errors import InvalidRequestError

SHORTEST_PREFIX = 8
"""Characters of 5 bits each: among 100,000 memories of one user, two share such a prefix for one user in 200."""
WHOLE_ID = 12
MOST_NAMED = 5


def short_id(memory: StoredMemory) -> str:
    """Return the id shown on a page: for facts a prefix, because their ids are random from the start."""
    return memory.id if memory.fact is None else memory.id[:SHORTEST_PREFIX]


def resolved_id(given: str, snapshot: UserSnapshot) -> str:
    """Return the id with this prefix, or the given text if no id begins with it.

    Raises:
        InvalidRequestError: Several ids begin with it.
    """
    if not SHORTEST_PREFIX <= len(given) < WHOLE_ID:
        return given
    found = {memory.id for memory in snapshot.rows if memory.id.startswith(given)}
    if given in found or not found:
        return given
    if len(found) > 1:
        named = ", ".join(sorted(found)[:MOST_NAMED])
        raise InvalidRequestError(f"several ids begin with {given!r}: {named}; give the whole id")
    return found.pop()
