"""Encode entries of the tool log as items and decode them."""

import json
from datetime import timedelta
from typing import Any, cast

from mcp_memory_server.domain.conversations.tool_log import ToolCall, ToolStatus
from mcp_memory_server.domain.kernel.items import INDEX_PARTITION, INDEX_SORT, Item, Put, Value
from mcp_memory_server.domain.kernel.redaction import Plain
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import is_ulid, moment_of
from mcp_memory_server.errors import TableDamagedError
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import Record, moment_or_none, optional_text


def tool_call_put(scope: Scope, call: ToolCall) -> Put:
    """Return the write that stores a call until it expires."""
    body: dict[str, Value] = {
        "name": call.name,
        "status": call.status.value,
        "milliseconds": round(call.duration / timedelta(milliseconds=1), 3),
        "at": keys.timestamp(call.at),
        # As JSON text, so that every input can be stored and comes back unchanged.
        "inputs": json.dumps(call.inputs, ensure_ascii=False),
    }
    if call.output:  # some engines refuse an empty text
        body["output"] = call.output
    if call.session_id is not None:
        body |= {
            "session": call.session_id,
            INDEX_PARTITION: keys.tools_index(scope, call.session_id),
            INDEX_SORT: call.id,
        }
    return Put(keys.tool_call_key(scope, call.id), body, expected_version=0, expires_at=call.expires_at)


def redacted_call(item: Item, call: ToolCall) -> Put:
    """Return the write that stores a call with less in its inputs and its output."""
    body = {name: value for name, value in item.body.items() if name != "output"}
    inputs: Value = json.dumps(call.inputs, ensure_ascii=False)
    output: dict[str, Value] = {"output": call.output} if call.output else {}
    return Put(item.key, {**body, "inputs": inputs, **output}, item.version, item.expires_at)


def tool_call_from(item: Item) -> ToolCall:
    """Decode a call.

    Raises:
        TableDamagedError: The item holds no valid call.
    """
    call_id, body = item.key.sk, item.body
    if not is_ulid(call_id):
        raise TableDamagedError("the item of a tool call has no id, so it cannot be read")
    status, milliseconds = body.get("status"), body.get("milliseconds")
    return ToolCall(
        id=call_id,
        name=optional_text(body, "name") or "unknown",
        status=ToolStatus(status) if status in set(ToolStatus) else ToolStatus.OK,
        duration=timedelta(milliseconds=milliseconds if isinstance(milliseconds, int | float) else 0),
        at=moment_or_none(body.get("at")) or moment_of(call_id),
        inputs=_inputs(body),
        output=optional_text(body, "output") or "",
        session_id=optional_text(body, "session"),
    )


def _inputs(body: Record) -> dict[str, Plain]:
    try:
        inputs: Any = json.loads(optional_text(body, "inputs") or "{}")
    except ValueError:
        return {}
    return cast("dict[str, Plain]", inputs) if isinstance(inputs, dict) else {}
