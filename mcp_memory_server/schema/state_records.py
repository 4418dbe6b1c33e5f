"""Encode the shared states of sessions as items: compressed where they are long.

===================  ==============  ===========  ====================================
what                 pk              sk           lives
===================  ==============  ===========  ====================================
state of a session   STATES#<user>   <session>    a day after it was last written
===================  ==============  ===========  ====================================

The version of a state is that of its item. After a state was removed, versions begin anew; a nonce
distinguishes two states with one version.
"""

import json
import zlib
from datetime import datetime, timedelta
from uuid import uuid4

from mcp_memory_server.domain.kernel.items import Item, Key, Put, Value
from mcp_memory_server.domain.kernel.scope import Scope, user_and_session
from mcp_memory_server.domain.sessions.cached_session import SharedState, state_text
from mcp_memory_server.errors import TableDamagedError
from mcp_memory_server.schema.keys import encoded, states_partition

LIFE = timedelta(days=1)
COMPRESSED_FROM_BYTES = 1024

_TEXT, _PACKED, _NONCE = "text", "packed", "nonce"


def state_key(scope: Scope) -> Key:
    """Return the key of the shared state of a session."""
    user, session = user_and_session(scope)
    return Key(states_partition(user), encoded(session))


def state_put(scope: Scope, value: object, expected_version: int, now: datetime) -> Put:
    """Return the write that replaces the state of this version.

    Raises:
        InvalidRequestError: The value is no plain data.
    """
    text = state_text(value)
    data = text.encode()
    content: dict[str, Value] = {_TEXT: text} if len(data) < COMPRESSED_FROM_BYTES else {_PACKED: zlib.compress(data)}
    body = {**content, _NONCE: uuid4().hex}
    return Put(state_key(scope), body, expected_version, (now + LIFE).replace(microsecond=0))


def state_from(item: Item | None) -> SharedState:
    """Decode a shared state; without an item there is none.

    Raises:
        TableDamagedError: It cannot be read.
    """
    if item is None:
        return SharedState(None, 0)
    text, packed = item.body.get(_TEXT), item.body.get(_PACKED)
    try:
        data = zlib.decompress(packed) if isinstance(packed, bytes) else str(text)
        return SharedState(json.loads(data), item.version)
    except (zlib.error, ValueError) as error:
        raise TableDamagedError("a shared state cannot be unpacked") from error


def state_nonce(item: Item | None) -> tuple[int, Value]:
    """Return the version of a stored state, and what no other write of it has."""
    return (0, None) if item is None else (item.version, item.body.get(_NONCE))
