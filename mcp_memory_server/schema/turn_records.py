"""Where a conversation lies in the table, and how its turns are written: compact, and split where an item is too small.

===========================  ================================  ====================  ============
what                         pk                                sk                    lives
===========================  ================================  ====================  ============
turn                         SESSION#<user>#<session>          TURN#<ulid>           90 days
counters of the session      SESSION#<user>#<session>          ~META                 90 days
rolling summary              SESSION#<user>#<session>          ~SUMMARY              90 days
content too long for a turn  PARTS#<user>#<session>#<ulid>     <number>              90 days
===========================  ================================  ====================  ============

``~`` sorts after every turn: one query, newest first, returns the summary, the counters and the last turns, however
long the conversation is. The user is part of the key, so that knowing a session's id gives nobody its turns. The index
knows the sessions of a user: ``SESSIONS#<user>``, in the order of their ids.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from mcp_memory_server.domain.items import INDEX_PARTITION, INDEX_SORT, Item, Key, Put, Update, Value
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.turns import LIFE, Role, Turn, View
from mcp_memory_server.errors import InvalidRequestError, TableDamagedError
from mcp_memory_server.schema.keys import encoded

TURNS = "TURN#"
META = "~META"
SUMMARY = "~SUMMARY"

TURN_COUNT, TOKEN_COUNT = "turns", "tokens"

COMPRESSED_FROM_BYTES = 1024
PART_BYTES = 300 * 1024

_CONTENT = ("content", "packed", "parts")
_VIEWS = {
    View.CONTEXT: ("role", *_CONTENT, "intent", "speaker"),
    View.SUMMARY: ("role", *_CONTENT),
    View.EVERYTHING: None,
}
_COUNTERS = (TURN_COUNT, TOKEN_COUNT, "text")


@dataclass(frozen=True)
class Written:
    """A turn as items: the parts of a long content first, so that a turn is only seen when all of it is there."""

    parts: tuple[Put, ...]
    turn: Put


def session_partition(scope: Scope) -> str:
    """Return the partition that holds a conversation.

    Raises:
        InvalidRequestError: The scope names no session.
    """
    if scope.session_id is None:
        raise InvalidRequestError("a conversation needs a session_id")
    return f"SESSION#{encoded(scope.user_id)}#{encoded(scope.session_id)}"


def meta_key(scope: Scope) -> Key:
    """Return where the counters of a session lie."""
    return Key(session_partition(scope), META)


def sessions_of(scope: Scope) -> str:
    """Return under which name the index lists the sessions of a user."""
    return f"SESSIONS#{encoded(scope.user_id)}"


def counted(scope: Scope, turn: Turn, now: datetime) -> Update:
    """Return the write that counts a turn, and lists its session."""
    return Update(
        meta_key(scope),
        add={TURN_COUNT: 1, TOKEN_COUNT: turn.token_count},
        set={INDEX_PARTITION: sessions_of(scope), INDEX_SORT: encoded(scope.session_id or "")},
        expires_at=now + LIFE,
    )


def attributes_for(view: View) -> tuple[str, ...] | None:
    """Return what is read of each item for a view, None for everything. The counters are always read."""
    wanted = _VIEWS[view]
    return None if wanted is None else (*wanted, *_COUNTERS)


def written(scope: Scope, turn: Turn) -> Written:
    """Return the turn as the items that hold it."""
    partition, expires_at = session_partition(scope), turn.at + LIFE
    body = _details(turn)
    packed = _packed(turn.content)
    pieces: list[bytes] = []
    if isinstance(packed, str):
        if packed:  # an engine may refuse an empty text
            body["content"] = packed
    elif len(packed) <= PART_BYTES:
        body["packed"] = packed
    else:
        pieces = [packed[start : start + PART_BYTES] for start in range(0, len(packed), PART_BYTES)]
        body["parts"] = len(pieces)
    parts = tuple(
        Put(Key(_parts_partition(partition, turn.id), f"{number:04}"), {"packed": piece}, 0, expires_at)
        for number, piece in enumerate(pieces)
    )
    return Written(parts, Put(Key(partition, TURNS + turn.id), body, expected_version=0, expires_at=expires_at))


def parts_of(item: Item) -> str | None:
    """Return the partition that holds the content of this turn, None if the turn holds it itself."""
    return _parts_partition(item.key.pk, turn_id(item)) if "parts" in item.body else None


def turn_id(item: Item) -> str:
    """Return the id of the turn that an item holds."""
    return item.key.sk.removeprefix(TURNS)


def turn_from(item: Item, parts: Sequence[Item] = ()) -> Turn:
    """Read a turn, of which perhaps only a view was read.

    Raises:
        TableDamagedError: A part of its content is missing, or cannot be unpacked.
    """
    body = item.body
    return Turn(
        id=turn_id(item),
        role=Role(body["role"]) if body.get("role") in set(Role) else Role.SYSTEM,
        content=_content(body, parts),
        speaker=_text(body, "speaker"),
        intent=_text(body, "intent"),
        agent=_text(body, "agent"),
        tool_calls=tuple(cast("Sequence[Mapping[str, Any]]", body.get("tool_calls") or ())),
        token_count=_number(body, "token_count", 0),
        importance=float(cast("float", body.get("importance", 0.5))),
        page_context=cast("Mapping[str, Any] | None", body.get("page_context")),
        response_id=_text(body, "response_id"),
        guardrail_flags=tuple(cast("Sequence[str]", body.get("guardrail_flags") or ())),
    )


def _details(turn: Turn) -> dict[str, Value]:
    optional: dict[str, Any] = {
        "speaker": turn.speaker,
        "intent": turn.intent,
        "agent": turn.agent,
        "tool_calls": list(turn.tool_calls),
        "page_context": turn.page_context,
        "response_id": turn.response_id,
        "guardrail_flags": list(turn.guardrail_flags),
    }
    present = {name: value for name, value in optional.items() if value}
    return {"role": turn.role.value, "token_count": turn.token_count, "importance": turn.importance, **present}


def _packed(content: str) -> str | bytes:
    """Return the content as it is if that is short, else compressed: most text shrinks to a third."""
    data = content.encode()
    if len(data) < COMPRESSED_FROM_BYTES:
        return content
    return zlib.compress(data)


def _content(body: Mapping[str, Value], parts: Sequence[Item]) -> str:
    if "parts" in body and len(parts) != body["parts"]:
        raise TableDamagedError("a part of a long turn is missing")
    packed = b"".join(cast("bytes", part.body["packed"]) for part in parts) if parts else body.get("packed")
    if packed is None:
        return cast("str", body.get("content", ""))
    try:
        return zlib.decompress(cast("bytes", packed)).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise TableDamagedError("the content of a turn cannot be unpacked") from error


def _parts_partition(session: str, turn: str) -> str:
    return f"PARTS{session.removeprefix('SESSION')}#{turn}"


def _text(body: Mapping[str, Value], name: str) -> str | None:
    value = body.get(name)
    return value if isinstance(value, str) else None


def _number(body: Mapping[str, Value], name: str, default: int) -> int:
    value = body.get(name)
    return int(value) if isinstance(value, int | float) else default
