"""Conversations, tool calls, shared states and framework snapshots as lines of an export.

The turns of a session come first, each with its id; the line of the session follows them. What other items refer to
keeps its id: a summary the turns up to which it goes, a fact the turn that it came from.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from mcp_memory_server.domain.kernel.item_checks import check_operation_id, checked_body
from mcp_memory_server.domain.kernel.items import INDEX_PARTITION, INDEX_SORT, Item, Key, Put, Value
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import is_ulid
from mcp_memory_server.domain.sessions.turns import NewTurn, Turn, kept_as
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.schema import embeddings, keys, snapshot_records
from mcp_memory_server.schema.ending_records import Ending, ending_from, ending_key
from mcp_memory_server.schema.exported.line_values import line_text, mapping
from mcp_memory_server.schema.records import moment_from, moment_or_none, optional_text
from mcp_memory_server.schema.state_records import state_from, state_put
from mcp_memory_server.schema.tool_records import tool_call_from, tool_call_put
from mcp_memory_server.schema.turn_records import (
    OPERATION,
    WRITER,
    counters_from,
    meta_key,
    operation_of,
    rolled_upto,
    rolling_key,
    summary_from,
    turn_from,
    turn_id,
    turn_key,
    written,
)
from mcp_memory_server.schema.vector_entries import VECTOR_OWNER

TURN, SESSION, TOOL_CALL, STATE, SNAPSHOT = "turn", "session", "tool_call", "state", "snapshot"
KINDS = (TURN, SESSION, TOOL_CALL, STATE, SNAPSHOT)

_TURN = {
    "role",
    "token_count",
    "importance",
    "speaker",
    "intent",
    "agent",
    "tool_calls",
    "page_context",
    "response_id",
    "source_id",
    "guardrail_flags",
    "content",
    "packed",
    "parts",
    "operation",
}
_COMPUTED = {INDEX_PARTITION, INDEX_SORT, OPERATION, WRITER, VECTOR_OWNER, *embeddings.ALL_ATTRIBUTES}
_VECTOR = re.compile(r"vector_\d+")


@dataclass(frozen=True)
class ItemEntry:
    """An item that is added unless it exists, after the parts that it names. ``bytes`` is about its size."""

    put: Put
    parts: tuple[Put, ...] = ()


@dataclass(frozen=True)
class TurnEntry:
    """A turn that is added to its session under the id that it had, unless that is there."""

    scope: Scope
    turn: Turn
    operation: str | None = None
    expires_at: datetime | None = None
    beside: Mapping[str, Value] = field(default_factory=dict[str, Value])


@dataclass(frozen=True)
class SessionEntry:
    """What is known of a session beside its turns.

    The counts include turns that were deleted or have expired since.
    """

    scope: Scope
    turn_count: int
    token_count: int
    ended_at: datetime | None = None
    summary: str | None = None
    rolled_upto: str = ""
    ending: Ending | None = None


Entry = ItemEntry | TurnEntry | SessionEntry


def line_of_turn(session_id: str, item: Item, parts: Sequence[Item] = ()) -> str:
    """Return a turn as a line.

    Raises:
        TableDamagedError: It cannot be read.
    """
    turn = turn_from(item, parts)
    kept = {name: value for name, value in item.body.items() if not _is_computed(name)}
    memory = {name: value for name, value in kept.items() if name not in ("content", "packed", "parts")}
    memory["content"] = turn.content
    if (operation := operation_of(item)) is not None:
        memory["operation"] = operation
    return line_text(TURN, turn_id(item), memory, item.expires_at, session=session_id)


def line_of_session(scope: Scope, items: Mapping[Key, Item], turn_count: int, token_count: int) -> str:
    """Return what is known of a session beside its turns, of these items, as a line."""
    ended_at = counters_from(items.get(meta_key(scope))).ended_at
    rolling, ending = items.get(rolling_key(scope)), items.get(ending_key(scope))
    memory: dict[str, Any] = {"turn_count": turn_count, "token_count": token_count}
    if ended_at is not None:
        memory["ended_at"] = keys.timestamp(ended_at)
    if rolling is not None:
        memory |= {"summary": summary_from(rolling), "summary_up_to": rolled_upto(rolling)}
    if ending is not None:
        record = ending_from(ending)
        memory["finished"] = {
            "up_to": record.upto,
            "times": record.times,
            "tier": record.tier.value,
            "due": None if record.due is None else keys.timestamp(record.due),
            "ended": None if record.ended is None else keys.timestamp(record.ended),
        }
    return line_text(SESSION, scope.session_id or "", memory, None)


def line_of_tool_call(item: Item) -> str:
    """Return a logged tool call as a line."""
    tool_call_from(item)
    kept = {name: value for name, value in item.body.items() if not _is_computed(name)}
    return line_text(TOOL_CALL, item.key.sk, kept, item.expires_at)


def line_of_state(item: Item) -> str:
    """Return the shared state of a session as a line.

    Raises:
        TableDamagedError: It cannot be read.
    """
    return line_text(STATE, keys.decoded(item.key.sk), {"value": state_from(item).value}, item.expires_at)


def line_of_snapshot(head: Item, parts: Sequence[Item]) -> str:
    """Return a framework snapshot as a line.

    Raises:
        TableDamagedError: It cannot be read.
    """
    data = snapshot_records.data_from(head, parts)
    return line_text(SNAPSHOT, snapshot_records.name_of(head.key), {"data": data}, head.expires_at)


def entry_from(owner: Scope, line: Mapping[str, Any], now: datetime) -> Entry:
    """Decode a line of one of these `KINDS`. Whose it is, and where it is stored, is not for the line to choose."""
    kind, key, memory = line["kind"], _text(line, "key"), mapping(line["memory"])
    expires_at = None if line.get("expires_at") is None else moment_from(line["expires_at"])
    if kind == TURN:
        return _turn(Scope(owner.user_id, _text(line, "session")), key, memory, expires_at, now)
    if kind == SESSION:
        return _session(Scope(owner.user_id, key), memory)
    if kind == TOOL_CALL:
        call = tool_call_from(Item(keys.tool_call_key(owner, key), memory, version=1))
        return ItemEntry(_checked(tool_call_put(owner, call)))
    if kind == STATE:
        put = state_put(Scope(owner.user_id, key), memory["value"], 0, now)
        return ItemEntry(_checked(put if expires_at is None else replace(put, expires_at=expires_at)))
    return _snapshot(owner, key, memory, expires_at, now)


def _turn(scope: Scope, id_: str, memory: Mapping[str, Any], expires_at: datetime | None, now: datetime) -> TurnEntry:
    if not is_ulid(id_):
        raise InvalidRequestError(f"a turn has a ULID as its key, got {id_[:40]!r}")
    read = turn_from(Item(turn_key(scope, id_), {**memory, "content": _text(memory, "content")}, version=1))
    new = NewTurn(
        read.role,
        read.content,
        read.speaker,
        read.intent,
        read.agent,
        read.tool_calls,
        read.token_count,
        read.importance,
        read.page_context,
        read.response_id,
        read.guardrail_flags,
        source_id=read.source_id,
    )
    turn = kept_as(new, id_, tokens=read.token_count, importance=read.importance)
    operation = optional_text(memory, "operation")
    check_operation_id(operation)
    beside = {name: value for name, value in memory.items() if name not in _TURN and not _is_computed(name)}
    entry = TurnEntry(scope, turn, operation, expires_at, beside)
    _checked(written(scope, turn, now, operation=operation, beside=beside).turn)
    return entry


def _session(scope: Scope, memory: Mapping[str, Any]) -> SessionEntry:
    turn_count, token_count = memory["turn_count"], memory["token_count"]
    if not all(type(one) is int and 0 <= one < 2**53 for one in (turn_count, token_count)):
        raise InvalidRequestError("a session has a turn_count and a token_count")
    summary, upto, finished = (
        memory.get("summary"),
        optional_text(memory, "summary_up_to") or "",
        memory.get("finished"),
    )
    if summary is not None:
        if not upto:
            raise InvalidRequestError("a session with a summary says in summary_up_to which turns it covers")
        _checked(Put(rolling_key(scope), {"text": summary}))
    return SessionEntry(
        scope,
        turn_count,
        token_count,
        None if memory.get("ended_at") is None else moment_from(memory["ended_at"]),
        optional_text(memory, "summary"),
        _ulid_or_nothing(upto),
        None if finished is None else _ending(scope, mapping(finished)),
    )


def _ending(scope: Scope, finished: Mapping[str, Any]) -> Ending:
    times = finished.get("times", 0)
    ending = ending_from(Item(ending_key(scope), {"tier": finished.get("tier")}, version=0))
    return replace(
        ending,
        upto=_ulid_or_nothing(finished.get("up_to") or ""),
        times=times if type(times) is int and 0 <= times < 2**53 else 0,
        due=moment_or_none(finished.get("due")),
        ended=moment_or_none(finished.get("ended")),
    )


def _snapshot(
    owner: Scope, name: str, memory: Mapping[str, Any], expires_at: datetime | None, now: datetime
) -> ItemEntry:
    data = memory["data"]
    if not isinstance(data, bytes):
        raise InvalidRequestError("a snapshot has its data in Base64")
    until = expires_at or now + snapshot_records.LIFE
    items = snapshot_records.written(owner, name, data, writing=uuid4().hex, expires_at=until)
    return ItemEntry(_checked(replace(items.head, expected_version=0)), items.parts)


def _checked(put: Put) -> Put:
    return replace(put, body=checked_body(put.key, put.body))


def _is_computed(name: str) -> bool:
    return name in _COMPUTED or _VECTOR.fullmatch(name) is not None


def _ulid_or_nothing(text: str) -> str:
    if text and not is_ulid(text):
        raise InvalidRequestError(f"a turn has a ULID as its id, got {text[:40]!r}")
    return text


def _text(line: Mapping[str, Any], name: str) -> str:
    value = line.get(name)
    if not isinstance(value, str):
        raise InvalidRequestError(f"{name!r} must be text")
    return value
