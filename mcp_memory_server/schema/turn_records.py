"""Where a conversation lies in the table, and how its turns are written: compact, and split where an item is too small.

===========================  ================================  ====================  ============
what                         pk                                sk                    lives
===========================  ================================  ====================  ============
turn                         SESSION#<user>#<session>          TURN#<ulid>           90 days
turn of a hot conversation   SESSION#<user>#<session>#<n>      TURN#<ulid>           90 days
counters of the session      SESSION#<user>#<session>          ~META                 90 days
rolling summary              SESSION#<user>#<session>          ~SUMMARY              90 days
how the session ends         SESSION#<user>#<session>          #ENDING               90 days
content too long for a turn  PARTS#<user>#<session>#<ulid>     <number>              90 days
===========================  ================================  ====================  ============

``~`` sorts after every turn: one query, newest first, returns the summary, the counters and the last turns, however
long the conversation is. The user is part of the key, so that knowing a session's id gives nobody its turns. The index
knows the sessions of a user: ``SESSIONS#<user>``, in the order of their ids.

A conversation that much is written to at once lies in more ``partitions``, 1 to 63 beside the one without a number. The
counters say how many there are before anything is written there, and there are never fewer again.

``#`` sorts before every turn. How a session ends is nothing that a reader of turns needs (`schema.ending_records`).

A turn says under which operation it was put (``o``; earlier ones say so with their row), and which writer (``w``) will
count it. The counters hold the watermark of each writer (``upto``): a turn id, and when it was set.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from mcp_memory_server.domain.kernel.items import (
    INDEX_PARTITION,
    INDEX_SORT,
    Delete,
    Item,
    Key,
    Put,
    Update,
    Value,
    Write,
)
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.counts import Counters, Line, Watermark
from mcp_memory_server.domain.sessions.turns import LIFE, Role, Turn, View
from mcp_memory_server.errors import InvalidRequestError, TableDamagedError
from mcp_memory_server.schema.keys import decoded, encoded

TURNS = "TURN#"
AFTER_TURNS = "TURN#~"
"""Sorts after every turn, and before what lies behind them."""
META = "~META"
SUMMARY = "~SUMMARY"
FROM_TURNS_ON = (TURNS, "~~")
"""What a reader of a conversation needs: its turns, and what lies behind them."""
UPTO = "upto"

TURN_COUNT, TOKEN_COUNT = "turns", "tokens"
WATERMARKS, PARTITIONS, ENDED_AT = "upto", "partitions", "ended_at"
OPERATION, WRITER = "o", "w"
COUNTED = (WRITER, "token_count")
"""What is read of a turn in order to count it."""

COMPRESSED_FROM_BYTES = 1024
PART_BYTES = 300 * 1024
WITHIN_TURN_BYTES = 220 * 1024
"""A longer content is stored in parts, so that a turn with the longest details is no larger than an item may be."""

_ROLES: Mapping[object, Role] = {role.value: role for role in Role}
_CONTENT = ("content", "packed", "parts")
_SAID = ("role", "speaker", *_CONTENT)
_OF_THE_CONTENT = (*_CONTENT, "embedding", "embedded_by", "vector_", "tool_calls", "page_context")
"""How attributes begin that hold the content of a turn, or something made of it."""
_DETAILS = ("agent", "tool_calls", "page_context", "response_id", "source_id", "guardrail_flags")
_VIEWS = {
    View.CONTEXT: (*_SAID, "intent", "importance"),
    View.SUMMARY: (*_SAID, "importance"),
    View.EVERYTHING: (*_SAID, "intent", "importance", *_DETAILS),
}
"""What is read for each view. The importance decides what is left out where there is too much."""
_COUNTERS = (TURN_COUNT, TOKEN_COUNT, WATERMARKS, PARTITIONS, ENDED_AT)
_BESIDE = (OPERATION, *COUNTED, *_COUNTERS, "text")
RECOGNISED = (OPERATION, *_COUNTERS)
"""What is read in order to recognise turns that were put before."""


@dataclass(frozen=True)
class Written:
    """A turn as items: the parts of a long content are put first, so that a stored turn is always complete."""

    parts: tuple[Put, ...]
    turn: Put

    def turn_in(self, number: int, writer: str | None) -> Put:
        """Return the turn as it is put into this partition of its session; the writer counts it later, if any."""
        put = self.turn
        if not number and writer is None:
            return put
        key = Key(f"{put.key.pk}#{number}", put.key.sk) if number else put.key
        body = put.body if writer is None else {**put.body, WRITER: writer}
        return Put(key, body, put.expected_version, put.expires_at)


def session_partition(scope: Scope, number: int = 0) -> str:
    """Return the partition that holds a conversation, or one of those that hold its further turns.

    Raises:
        InvalidRequestError: The scope names no session.
    """
    if scope.session_id is None:
        raise InvalidRequestError("a conversation needs a session_id")
    first = f"SESSION#{encoded(scope.user_id)}#{encoded(scope.session_id)}"
    return f"{first}#{number}" if number else first


def partitions_of(meta: Key, counters: Counters) -> tuple[str, ...]:
    """Return every partition of the session whose counters lie there, the one that has the counters last."""
    return (*(f"{meta.pk}#{number}" for number in range(counters.partitions - 1, 0, -1)), meta.pk)


def turn_key(scope: Scope, turn_id: str, number: int = 0) -> Key:
    """Return where a turn lies in this partition of its session."""
    return Key(session_partition(scope, number), TURNS + turn_id)


def cursor_of(turn_id: str) -> str:
    """Return the cursor that leads to what was said before this turn."""
    return TURNS + turn_id


def meta_key(scope: Scope) -> Key:
    """Return where the counters of a session lie."""
    return Key(session_partition(scope), META)


def session_of(key: Key) -> Scope:
    """Return whose it is what lies in the first partition of a session."""
    _, user, session = key.pk.split("#")
    return Scope(decoded(user), decoded(session))


def sessions_of(scope: Scope) -> str:
    """Return under which name the index lists the sessions of a user."""
    return f"SESSIONS#{encoded(scope.user_id)}"


def attributes_for(view: View) -> tuple[str, ...]:
    """Return what is read of each item for a view, never its vectors. What counting needs is always read."""
    return (*_VIEWS[view], *_BESIDE)


def counters_from(meta: Item | None) -> Counters:
    """Read the counters of a session; without the item there are none."""
    if meta is None:
        return Counters()
    ended_at = _text(meta.body, ENDED_AT)
    return Counters(
        version=meta.version,
        turns=_number(meta.body, TURN_COUNT, 0),
        tokens=_number(meta.body, TOKEN_COUNT, 0),
        watermarks=_watermarks(meta.body.get(WATERMARKS)),
        partitions=max(1, _number(meta.body, PARTITIONS, 1)),
        ended_at=None if ended_at is None else datetime.fromisoformat(ended_at),
    )


def watermarks_body(watermarks: Mapping[str, Watermark]) -> dict[str, Value]:
    """Return the watermarks in their stored form."""
    return {writer: [watermark.upto, int(watermark.at.timestamp())] for writer, watermark in watermarks.items()}


def session_written(
    scope: Scope,
    now: datetime,
    *,
    add: Mapping[str, int] | None = None,
    set: Mapping[str, Value] | None = None,  # noqa: A002 - the name that updates have for it
    expected_version: int | None = None,
) -> Update:
    """Return a write to the counters, which lists the session and keeps it for its time."""
    listed = {INDEX_PARTITION: sessions_of(scope), INDEX_SORT: encoded(scope.session_id or "")}
    return Update(
        meta_key(scope),
        add=add or {},
        set={**listed, **(set or {})},
        expires_at=now + LIFE,
        expected_version=expected_version,
    )


def line_from(item: Item) -> Line:
    """Read what counting needs to know of a turn."""
    return Line(turn_id(item), _number(item.body, "token_count", 0), _text(item.body, WRITER))


def line_of(turn: Turn) -> Line:
    """Return what counting needs to know of a turn that is counted with its own write."""
    return Line(turn.id, turn.token_count)


def summary_from(item: Item | None) -> str | None:
    """Read the rolling summary."""
    return None if item is None else _text(item.body, "text")


def rolled_upto(item: Item | None) -> str:
    """Return the id of the last turn that the rolling summary has in it, "" if there is none."""
    return "" if item is None else _text(item.body, UPTO) or ""


def rolled(scope: Scope, text: str, upto: str, now: datetime, *, expected_version: int) -> Put:
    """Return the rolling summary as it is written: what was said up to this turn."""
    return Put(Key(session_partition(scope), SUMMARY), {"text": text, UPTO: upto}, expected_version, now + LIFE)


def rolling_key(scope: Scope) -> Key:
    """Return where the rolling summary of a session lies."""
    return Key(session_partition(scope), SUMMARY)


def operation_of(item: Item) -> str | None:
    """Return the operation that a turn was put under."""
    return _text(item.body, OPERATION) or item.operation_id


def written(
    scope: Scope,
    turn: Turn,
    now: datetime,
    *,
    operation: str | None = None,
    beside: Mapping[str, Value] | None = None,
    expires_at: datetime | None = None,
) -> Written:
    """Return the items that hold the turn in the first partition of its session, with what is stored ``beside`` it."""
    # An old conversation that is brought along lives from now on.
    partition, expires_at = session_partition(scope), expires_at or max(turn.at, now) + LIFE
    body = _details(turn)
    if operation:
        body[OPERATION] = operation
    body |= beside or {}
    packed = _packed(turn.content)
    pieces: list[bytes] = []
    if isinstance(packed, str):
        if packed:  # an engine may refuse an empty text
            body["content"] = packed
    elif len(packed) <= WITHIN_TURN_BYTES:
        body["packed"] = packed
    else:
        pieces = [packed[start : start + PART_BYTES] for start in range(0, len(packed), PART_BYTES)]
        body["parts"] = len(pieces)
    parts = tuple(
        Put(Key(_parts_partition(partition, turn.id), f"{number:04}"), {"packed": piece}, 0, expires_at)
        for number, piece in enumerate(pieces)
    )
    return Written(parts, Put(Key(partition, TURNS + turn.id), body, expected_version=0, expires_at=expires_at))


def redacted_writes(item: Item, turn: Turn, parts: Sequence[Item], beside: Mapping[str, Value]) -> list[Write]:
    """Return the writes that store a turn with less content in the place of the one that was read.

    It keeps its id, its operation and what it counts for; vectors of the earlier content go, ``beside`` has new ones.
    """
    lasts = item.expires_at or turn.at + LIFE
    again = written(Scope("-", "-"), turn, lasts - LIFE, beside=beside)
    new = {name: again.turn.body[name] for name in ("packed", "parts", "content") if name in again.turn.body}
    kept = {name: value for name, value in item.body.items() if not name.startswith(_OF_THE_CONTENT)}
    details = {name: again.turn.body[name] for name in ("tool_calls", "page_context") if name in again.turn.body}
    places = [part.key for part in parts]
    partition = _parts_partition(item.key.pk, turn.id)
    stored = [Put(Key(partition, part.key.sk), part.body, expires_at=lasts) for part in again.parts]
    gone = [Delete(key) for key in places if key not in {put.key for put in stored}]
    put = Put(item.key, {**kept, **details, **new, **beside}, item.version, lasts)
    return [*stored, put, *gone]


def parts_of(item: Item) -> str | None:
    """Return the partition that holds the content of this turn, None if the turn holds it itself.

    Of a turn that cannot be read, some of the content may be there.
    """
    return _parts_partition(item.key.pk, turn_id(item)) if item.is_damaged or "parts" in item.body else None


def have_the_same_content(one: Item, other: Item) -> bool:
    """Return whether two turns are the same words of the same one. Of very long ones that is not known."""
    return "parts" not in one.body and all(one.body.get(name) == other.body.get(name) for name in _SAID)


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
        role=_ROLES.get(body.get("role"), Role.SYSTEM),
        content=_content(body, parts),
        speaker=_text(body, "speaker"),
        intent=_text(body, "intent"),
        agent=_text(body, "agent"),
        tool_calls=tuple(cast("Sequence[Mapping[str, Any]]", body.get("tool_calls") or ())),
        token_count=_number(body, "token_count", 0),
        importance=float(cast("float", body.get("importance", 0.5))),
        page_context=cast("Mapping[str, Any] | None", body.get("page_context")),
        response_id=_text(body, "response_id"),
        source_id=_text(body, "source_id"),
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
        "source_id": turn.source_id,
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
    # The same for every partition of the session: encoded ids hold no "#", so a number is what comes after the third.
    _, user, session_id = session.split("#")[:3]
    return f"PARTS#{user}#{session_id}#{turn}"


def _watermarks(stored: Value) -> dict[str, Watermark]:
    watermarks = cast("Mapping[str, tuple[str, int]]", stored if isinstance(stored, Mapping) else {})
    return {writer: Watermark(upto, datetime.fromtimestamp(at, UTC)) for writer, (upto, at) in watermarks.items()}


def _text(body: Mapping[str, Value], name: str) -> str | None:
    value = body.get(name)
    return value if isinstance(value, str) else None


def _number(body: Mapping[str, Value], name: str, default: int) -> int:
    value = body.get(name)
    return int(value) if isinstance(value, int | float) else default
