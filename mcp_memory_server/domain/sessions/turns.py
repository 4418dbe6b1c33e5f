"""Turns: what was said in a conversation, by whom, and how much it matters."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

from mcp_memory_server.domain.kernel.item_checks import check_storable
from mcp_memory_server.domain.kernel.items import byte_length
from mcp_memory_server.domain.kernel.scope import check_id
from mcp_memory_server.domain.kernel.text import compact_json
from mcp_memory_server.domain.kernel.ulids import moment_of
from mcp_memory_server.errors import InvalidRequestError, TooLargeError

LIFE = timedelta(days=90)
MAX_CONTENT_BYTES = 4 * 1024 * 1024
MAX_DETAIL_BYTES = 64 * 1024
MAX_FLAGS = 32
MAX_FLAG_BYTES = 4 * 1024
MAX_TOKENS = 10**9
FIRST_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""A turn cannot have been said before: its id begins with the milliseconds since then."""


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class View(StrEnum):
    """What a reader needs of a turn; nothing else is read."""

    CONTEXT = "context"
    """Role, content, intent and time: for the next model call."""
    SUMMARY = "summary"
    """Role and content: for a summarizer."""
    EVERYTHING = "everything"
    """All of it: for a person who takes over, or for an export."""


@dataclass(frozen=True)
class NewTurn:
    """A turn to be appended. What the caller does not say is worked out: tokens, importance, time."""

    role: Role
    content: str
    speaker: str | None = None
    intent: str | None = None
    agent: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    token_count: int | None = None
    importance: float | None = None
    page_context: Mapping[str, Any] | None = None
    response_id: str | None = None
    guardrail_flags: tuple[str, ...] = ()
    said_at: datetime | None = None
    source_id: str | None = None

    def __post_init__(self) -> None:
        size = byte_length("content", self.content)
        if size > MAX_CONTENT_BYTES:
            raise TooLargeError(f"content must be at most {MAX_CONTENT_BYTES:,} bytes long, got {size:,}")
        if not self.content and not self.tool_calls:
            raise InvalidRequestError("a turn needs content or tool calls")
        for name in ("speaker", "intent", "agent", "response_id", "source_id"):
            if (value := getattr(self, name)) is not None:
                check_id(name, value)
        _check_details(self)


@dataclass(frozen=True)
class Turn:
    """A turn as it was kept. Its id rises strictly within its session."""

    id: str
    role: Role
    content: str
    speaker: str | None = None
    intent: str | None = None
    agent: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = field(default=())
    token_count: int = 0
    importance: float = 0.5
    page_context: Mapping[str, Any] | None = None
    response_id: str | None = None
    guardrail_flags: tuple[str, ...] = ()
    source_id: str | None = None
    """What the turn was called where it came from."""

    @cached_property
    def at(self) -> datetime:
        """When it was kept, to the millisecond."""
        return moment_of(self.id)


def kept_as(new: NewTurn, turn_id: str, *, tokens: int, importance: float) -> Turn:
    """Return the turn under its id, with what the caller left open."""
    return Turn(
        id=turn_id,
        role=new.role,
        content=new.content,
        speaker=new.speaker,
        intent=new.intent,
        agent=new.agent,
        tool_calls=new.tool_calls,
        token_count=tokens if new.token_count is None else new.token_count,
        importance=importance if new.importance is None else new.importance,
        page_context=new.page_context,
        response_id=new.response_id,
        guardrail_flags=new.guardrail_flags,
        source_id=new.source_id,
    )


def seen_as(turn: Turn, view: View) -> Turn:
    """Return only what the view shows of a turn."""
    if view is View.EVERYTHING:
        return turn
    bare = Turn(turn.id, turn.role, turn.content)
    return replace(bare, speaker=turn.speaker, intent=turn.intent if view is View.CONTEXT else None)


def newest_within(turns: Sequence[Turn], most_bytes: int) -> list[Turn]:
    """Return the newest turns, of those that are given oldest first, that have so many bytes together; at least one."""
    chosen: list[Turn] = []
    for turn in reversed(turns):
        most_bytes -= _size(turn)
        if most_bytes < 0 and chosen:
            break
        chosen.insert(0, turn)
    return chosen


def _size(turn: Turn) -> int:
    details = (list(turn.tool_calls), turn.page_context)
    return len(turn.content.encode()) + sum(len(compact_json(one)) for one in details if one)


def _check_details(turn: NewTurn) -> None:
    if turn.importance is not None and not 0 <= turn.importance <= 1:
        raise InvalidRequestError(f"importance must be 0 to 1, got {turn.importance!r}")
    check_storable("importance", turn.importance)
    if turn.token_count is not None and not 0 <= turn.token_count <= MAX_TOKENS:
        raise InvalidRequestError(f"token_count must be 0 to {MAX_TOKENS:,}, got {turn.token_count}")
    if turn.said_at is not None:
        if turn.said_at.tzinfo is None:
            raise InvalidRequestError(f"said_at must have a time zone, got {turn.said_at.isoformat()!r}")
        if turn.said_at < FIRST_TIME:
            raise InvalidRequestError(f"said_at must not be before 1970, got {turn.said_at.isoformat()!r}")
    if len(turn.guardrail_flags) > MAX_FLAGS:
        raise InvalidRequestError(f"at most {MAX_FLAGS} guardrail_flags are kept, got {len(turn.guardrail_flags)}")
    for name, detail, most in (
        ("tool_calls", list(turn.tool_calls), MAX_DETAIL_BYTES),
        ("page_context", turn.page_context, MAX_DETAIL_BYTES),
        ("guardrail_flags", list(turn.guardrail_flags), MAX_FLAG_BYTES),
    ):
        check_storable(name, detail)
        try:
            size = len(json.dumps(detail).encode())
        except (TypeError, ValueError) as error:
            raise InvalidRequestError(f"{name} must be plain data: {error}") from None
        if size > most:
            raise TooLargeError(f"{name} must be at most {most:,} bytes long, got {size:,}")
