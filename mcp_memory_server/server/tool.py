"""Lists and calls tools in the form of MCP."""

import asyncio
from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.recall.replies.answers import reply_text
from mcp_memory_server.errors import MemoryServerError, UnavailableError
from mcp_memory_server.memory import Memory
from mcp_memory_server.server.access.principal import Permission
from mcp_memory_server.server.call_ids import log_bug, log_failure
from mcp_memory_server.server.identity import Asked, Identify
from mcp_memory_server.server.spans import describe_reply, memory_span
from mcp_memory_server.tools import MemoryTool, Reply, error_reply

DEADLINE_SECONDS = 25.0
"""The deadline of a whole call. The table has a shorter one of its own, which usually ends first."""

READ_AND_WRITE = frozenset({"hook_prompt"})
"""The tools that store something and answer with other memories."""


def definition_of(tool: MemoryTool) -> Tool:
    """Return the tool as a client lists it."""
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=ToolAnnotations.model_validate(tool.hints),
        _meta={"anthropic/alwaysLoad": True} if tool.always_load else None,
    )


def needs_of_tool(tool: MemoryTool) -> tuple[Permission, ...]:
    """Return what a token must permit for this tool."""
    if tool.read_only:
        return (Permission.READ,)
    if tool.name in READ_AND_WRITE:
        return (Permission.READ, Permission.WRITE)
    return (Permission.FORGET,) if tool.destructive else (Permission.WRITE,)


async def call_tool(
    tool: MemoryTool, memory: Memory, identify: Identify, arguments: Mapping[str, Any], meta: Mapping[str, Any]
) -> CallToolResult:
    """Run the tool for the identified user. Every failure becomes a reply that a model can act on."""
    what, scope = f"tool {tool.name}", None
    try:
        scope = identify(Asked(needs_of_tool(tool), meta))
        with memory_span(tool.name) as span:
            async with asyncio.timeout(DEADLINE_SECONDS):
                reply = await tool.call(memory, scope, arguments)
            describe_reply(span, reply)
        return _result(reply)
    except MemoryServerError as error:
        return _failure(what, scope, error)
    except TimeoutError:
        late = UnavailableError("the memory did not answer in time; a write may still happen. Try again")
        return _failure(what, scope, late)
    except Exception as error:  # noqa: BLE001 - the edge of the process: a bug must not end the server
        call_id = log_bug(what, scope, error)
        failed = error_reply(UnavailableError("an internal error; the server's log has it under this call_id"))
        return _result({**failed, "call_id": call_id}, is_error=True)


def _result(reply: Reply, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=reply_text(reply))], structured_content=reply, is_error=is_error)


def _failure(what: str, scope: Scope | None, error: MemoryServerError) -> CallToolResult:
    reply = error_reply(error)
    if reply["error"] == "unavailable":
        reply["call_id"] = log_failure(what, scope, error)
    return _result(reply, is_error=True)
