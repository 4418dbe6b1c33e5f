"""Turns as JSON text, and back."""

import json
from dataclasses import fields
from typing import Any, cast

from mcp_memory_server.domain.kernel.text import compact_json
from mcp_memory_server.domain.kernel.ulids import is_ulid
from mcp_memory_server.domain.sessions.queued_turns import QueuedTurn
from mcp_memory_server.domain.sessions.turns import Role, Turn
from mcp_memory_server.errors import InvalidRequestError

_DEFAULTS = {field.name: field.default for field in fields(Turn) if field.name != "id"}
_TUPLES = ("tool_calls", "guardrail_flags")
_COUNTED_IN = "counted_in"


def turn_text(turn: Turn) -> str:
    """Return the turn without its id, which the cache may still raise. Fields that have their default are left out.

    Raises:
        InvalidRequestError: The id is no ULID, so it cannot be raised.
    """
    if not is_ulid(turn.id):
        raise InvalidRequestError(f"the id of a turn must be a ULID, got {turn.id!r}")
    values = vars(turn)
    return compact_json({name: values[name] for name, default in _DEFAULTS.items() if values[name] != default})


def queued_text(queued: QueuedTurn) -> str:
    """Return the text of a queued turn: that of the turn, and what counted it."""
    text = turn_text(queued.turn)
    if not queued.counted_in:
        return text
    return compact_json({**json.loads(text), _COUNTED_IN: queued.counted_in})


def counted_in(text: str) -> str:
    """Return the token of the cached session that counted a queued turn, "" if its text names none."""
    found: object = json.loads(text)
    token = cast("dict[str, Any]", found).get(_COUNTED_IN, "") if isinstance(found, dict) else ""
    return token if isinstance(token, str) else ""


def turn_from(turn_id: str, text: str) -> Turn:
    """Return the turn. A field that only a later release knows is ignored.

    Raises:
        ValueError: The text is not that of a turn.
    """
    parsed: object = json.loads(text)
    found = cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
    if not {"role", "content"} <= found.keys():
        raise ValueError("not the text of a turn")
    values: dict[str, Any] = {name: found[name] for name in _DEFAULTS if name in found}
    values["role"] = Role(values["role"])
    values |= {name: tuple(values[name]) for name in _TUPLES if name in values}
    return Turn(turn_id, **values)
