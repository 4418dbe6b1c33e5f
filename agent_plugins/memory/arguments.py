"""Arguments that developers pass to the plugins, checked where they are passed: the error says what is right."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_plugins.argument_checks import check_type
from agent_plugins.breakers.tool_registry import Tool, ToolRegistry
from mcp_memory_server import InvalidRequestError, Scope

_OLD_NAMES = {"user": "user_id", "session": "session_id"}


def named(
    user_id: str | None, session_id: str | None, old_names: Mapping[str, str | None]
) -> tuple[str | None, str | None]:
    """Return the checked names of a user and a session. ``user`` and ``session`` are their old names.

    Raises:
        InvalidRequestError: A name is not a text, or cannot be one, or has two values, or an argument is unknown.
    """
    unknown = [name for name in old_names if name not in _OLD_NAMES]
    if unknown:
        raise InvalidRequestError(f"there is no argument {unknown[0]!r}; the names are user_id and session_id")
    user_id = _one("user_id", user_id, "user", old_names)
    session_id = _one("session_id", session_id, "session", old_names)
    if user_id is not None or session_id is not None:
        Scope("-" if user_id is None else user_id, session_id)
    return user_id, session_id


def named_user(user_id: str | None, old_names: Mapping[str, str | None]) -> str:
    """Return the checked name of a user, which must be given.

    Raises:
        InvalidRequestError: There is none, or it is not a text.
    """
    found, session_id = named(user_id, None, old_names)
    if found is None or session_id is not None:
        raise InvalidRequestError("a user_id is needed, and no session: for example 'ana'")
    return found


def tool_registry(tools: ToolRegistry | Sequence[Tool]) -> ToolRegistry:
    """Return the registry, or one with these descriptions of tools.

    Raises:
        InvalidRequestError: Something else was passed, for example the tools themselves.
    """
    if isinstance(tools, ToolRegistry):
        return tools
    example = "a ToolRegistry or a list such as [Tool('search', timeout=5)], which describes tools that agents have"
    check_type("tools", tools, (list, tuple), example)
    for tool in tools:
        check_type("tools", tool, Tool, example)
    return ToolRegistry(tools)


def _one(name: str, value: Any, old_name: str, old_names: Mapping[str, str | None]) -> str | None:
    old_value = old_names.get(old_name)
    if value is not None and old_value is not None:
        raise InvalidRequestError(f"{old_name} is the old name of {name}: pass one of them")
    found = old_value if value is None else value
    if found is not None:
        check_type(name, found, str, "a text such as 'ana'")
    return found
