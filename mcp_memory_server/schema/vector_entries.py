"""The attributes that put a turn into a vector index. Nothing is stored in the index itself.

=====================  =======================  ============================================================
attribute              example                  what it is
=====================  =======================  ============================================================
``vector_owner``       ``anna#potion-8m``       whose turn it is, and which model made the vector ``vector_<numbers>``
``[12, -127, 0, …]``     the vector, a number for each dimension
=====================  =======================  ============================================================

The number of dimensions is part of the attribute's name, because the index refuses the whole write of an item whose
vector has another length: a model with other dimensions writes to another attribute, which the index of the first model
ignores. The model is part of the owner, so that vectors of two models are never compared.

Only turns are indexed there. All other memories of a user are searched in process, however many they are.
"""

import re

from mcp_memory_server.domain.kernel.items import Body, Key, Value
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import MemoryServerError
from mcp_memory_server.schema.keys import decoded, encoded
from mcp_memory_server.schema.turn_records import TURNS

VECTOR_OWNER = "vector_owner"

_SESSION = "SESSION"
_VECTOR = re.compile(r"vector_\d+")


def vector_attribute(dimensions: int) -> str:
    """Return the name of the attribute for vectors with this many dimensions."""
    return f"vector_{dimensions}"


def vector_owner(user_id: str, model: str) -> str:
    """Return the owner under which the index has a user's vectors by this model."""
    return f"{encoded(user_id)}#{model}"


def entry_body(user_id: str, vector: bytes, model: str) -> dict[str, Value]:
    """Return the attributes that put a turn into the index; none for a zero vector, which is close to nothing."""
    if not any(vector):
        return {}
    numbers = list(memoryview(vector).cast("b"))
    return {VECTOR_OWNER: vector_owner(user_id, model), vector_attribute(len(numbers)): numbers}


def is_entered(body: Body, user_id: str, model: str) -> bool:
    """Check whether a turn is in the index with a vector of this model."""
    return body.get(VECTOR_OWNER) == vector_owner(user_id, model)


def outdated_vectors(before: Body, now: Body) -> tuple[str, ...]:
    """Return the attributes with vectors of earlier models, which are removed when a turn gets a new vector."""
    if VECTOR_OWNER not in now:
        return ()
    return tuple(name for name in before if _VECTOR.fullmatch(name) and name not in now)


def owner_of(key: Key) -> str | None:
    """Return the user whose item has this key; None if it belongs to no user."""
    parts = key.pk.split("#")
    return decoded(parts[1]) if len(parts) > 1 else None


def turn_at(key: Key) -> tuple[Scope, str, int] | None:
    """Return the session, the turn id and the partition number of the turn with this key; None if it is no turn."""
    kind, *parts = key.pk.split("#")
    if kind != _SESSION or not key.sk.startswith(TURNS) or len(parts) not in (2, 3):
        return None
    number = parts[2] if len(parts) == 3 else "0"
    try:
        session = Scope(decoded(parts[0]), decoded(parts[1]))
    except MemoryServerError:
        return None
    return (session, key.sk.removeprefix(TURNS), int(number)) if number.isascii() and number.isdigit() else None
