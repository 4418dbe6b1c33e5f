"""What each request needs: read from its JSON before the SDK handles it, so that HTTP can answer 403."""

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

from mcp_memory_server.server.access.principal import Permission

Needs = Callable[[str], Collection[Permission]]
"""Return what the tool of this name needs; nothing for an unknown one, which is refused later."""


def needs_of(message: Mapping[str, Any], needs_of_tool: Needs) -> Collection[Permission]:
    """Return what a JSON-RPC request needs. Lists, prompts and the handshake show no memory."""
    name = parameters(message).get("name")
    if message.get("method") == "tools/call" and isinstance(name, str):
        return needs_of_tool(name)
    return (Permission.READ,) if message.get("method") == "resources/read" else ()


def decoded(body: bytes) -> dict[str, Any]:
    """Return the message, an empty one if the body is not a JSON object: then the SDK refuses it."""
    try:
        message: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", message) if isinstance(message, dict) else {}


def parameters(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of a message."""
    return _object(message.get("params"))


def meta_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the ``_meta`` of a message's parameters."""
    return _object(parameters(message).get("_meta"))


def _object(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
