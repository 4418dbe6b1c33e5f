"""What every session memory keeps alike: how much it remembers, and how turns and states are written down."""

import json
from dataclasses import fields
from typing import Any, cast

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import is_ulid
from mcp_memory_server.domain.sessions.limits import LIVES
from mcp_memory_server.domain.sessions.turns import Role, Turn
from mcp_memory_server.errors import InvalidRequestError

REMEMBERED_OPERATIONS = 200
"""A session recognises its last so many operations."""
TOLD_IN_FULL = 8
"""… and says again which turns made way for the last so many of them; the others' are no longer kept."""
MOST_RECORDED = 1000
"""A copy that nobody fills records so many turns; with one more it begins anew."""
STATE_LIFE = max(life.later for life in LIVES.values())
"""Agents share a state for as long as the longest session lives: a write to it does not say what tier it is of."""

_DEFAULTS = {field.name: field.default for field in fields(Turn) if field.name != "id"}
_TUPLES = ("tool_calls", "guardrail_flags")


def owner_of(scope: Scope) -> tuple[str, str]:
    """Return the user and the session.

    Raises:
        InvalidRequestError: The scope names no session.
    """
    if scope.session_id is None:
        raise InvalidRequestError("session memory is asked about a session; the scope names none")
    return scope.user_id, scope.session_id


def check_after(after: str | None) -> None:
    """Refuse what a turn cannot be sorted after: anything but an id, or "" for nothing."""
    if after and not is_ulid(after):
        raise InvalidRequestError(f"a turn is sorted after a ULID, got {after!r}")


def turn_text(turn: Turn) -> str:
    """Return all of the turn but its id, which the session memory may still raise. What is not said takes no room.

    Raises:
        InvalidRequestError: Its id cannot be raised, because it is no ULID.
    """
    if not is_ulid(turn.id):
        raise InvalidRequestError(f"the id of a turn must be a ULID, got {turn.id!r}")
    said = {name: getattr(turn, name) for name in _DEFAULTS}
    return _json({name: value for name, value in said.items() if value != _DEFAULTS[name]})


def turn_from(turn_id: str, text: str) -> Turn:
    """Return the turn of a text, also of one that a later release wrote: what it names besides is left out.

    Raises:
        ValueError: The text is not that of a turn.
    """
    said: object = json.loads(text)
    kept = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    if not {"role", "content"} <= kept.keys():
        raise ValueError("not the text of a turn")
    known: dict[str, Any] = {name: kept[name] for name in _DEFAULTS if name in kept}
    known["role"] = Role(known["role"])
    known |= {name: tuple(known[name]) for name in _TUPLES if name in known}
    return Turn(turn_id, **known)


def state_text(value: object) -> str:
    """Return a shared state as text.

    Raises:
        InvalidRequestError: It holds something else than plain data.
    """
    try:
        return _json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"the shared state must be plain data: {error}") from None


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which no store takes as it is
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text
