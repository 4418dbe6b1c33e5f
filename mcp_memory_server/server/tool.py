"""Tools as MCP describes and calls them."""

import asyncio
import logging
import traceback
from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from mcp_memory_server.domain.recall.answers import reply_text
from mcp_memory_server.errors import MemoryServerError, UnavailableError
from mcp_memory_server.memory import Memory
from mcp_memory_server.server.identity import Identify
from mcp_memory_server.server.spans import describe_reply, memory_span
from mcp_memory_server.tools import MemoryTool, Reply, error_reply

DEADLINE_SECONDS = 25.0
"""One deadline around everything a call does; longer than the table's own, which usually answers first."""

logger = logging.getLogger(__name__)


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


async def call_tool(
    tool: MemoryTool, memory: Memory, identify: Identify, arguments: Mapping[str, Any]
) -> CallToolResult:
    """Run the tool for whoever is identified. Whatever goes wrong becomes an answer that a model can act on."""
    try:
        with memory_span(tool.name) as span:
            async with asyncio.timeout(DEADLINE_SECONDS):
                reply = await tool.call(memory, identify(), arguments)
            describe_reply(span, reply)
        return _result(reply)
    except MemoryServerError as error:
        return _failure(error)
    except TimeoutError:
        return _failure(UnavailableError("the memory did not answer in time; a write may still happen. Try again"))
    except Exception as error:  # noqa: BLE001 - the edge of the process: a bug must not end the server
        frames = "".join(traceback.format_tb(error.__traceback__))
        # Without the exception's text, which may quote a memory or a secret.
        logger.error("tool %s failed with %s\n%s", tool.name, type(error).__name__, frames)  # noqa: TRY400
        return _failure(UnavailableError("an internal error; the server's log has its place"))


def _result(reply: Reply, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=reply_text(reply))], structured_content=reply, is_error=is_error)


def _failure(error: MemoryServerError) -> CallToolResult:
    return _result(error_reply(error), is_error=True)
