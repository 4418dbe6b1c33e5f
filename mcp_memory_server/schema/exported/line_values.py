"""Lines of an export as JSON: bytes are Base64, moments have a fixed width."""

import base64
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.schema.keys import timestamp


def line_text(kind: str, key: str, memory: Mapping[str, Any], expires_at: datetime | None, **more: str) -> str:
    """Return one line: what it is, its key, its content, and until when it lives."""
    line: dict[str, Any] = {"kind": kind, **more, "key": key, "memory": memory}
    if expires_at is not None:
        line["expires_at"] = timestamp(expires_at)
    return json.dumps(line, ensure_ascii=False, default=_bytes_to_json)


def parsed_line(line: str) -> Mapping[str, Any]:
    """Parse one line."""
    return mapping(json.loads(line, object_hook=_bytes_from_json))


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is an object.

    Raises:
        InvalidRequestError: It is something else.
    """
    if not isinstance(value, dict):
        raise InvalidRequestError("an object in braces was expected")
    return cast("dict[str, Any]", value)


def _bytes_to_json(value: object) -> dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} cannot be exported")
    return {"$base64": base64.b64encode(value).decode()}


def _bytes_from_json(entry: dict[str, Any]) -> Any:
    return base64.b64decode(entry["$base64"]) if entry.keys() == {"$base64"} else entry
