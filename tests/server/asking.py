"""Asking a server as a client does: what it answers, how it refuses, and all five tools in a row."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from mcp import Client
from mcp_types import CallToolResult, TextContent

from mcp_memory_server import Memory, Scope

ANA = Scope("ana")
FIVE_TOOLS = ["recall", "remember_fact", "set_preference", "load_context", "forget"]

Era = Literal["auto", "legacy"]
ERAS: tuple[Era, ...] = ("auto", "legacy")
"""As the SDK's client calls them: protocol 2026-07-28, and the last one that begins with a handshake."""

LISBON = {"fact": "Ana lives in Lisbon.", "topic": "personal/location/city"}


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed. Its text says the same as its structured answer, which is returned."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    assert json.loads(text_of(result)) == result.structured_content
    return result.structured_content


async def be_refused(client: Client, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Call a tool that must fail in a way that the model is told of, and return what it is told."""
    result = await client.call_tool(tool, dict(arguments))
    assert result.is_error, text_of(result)
    assert result.structured_content is not None
    assert json.loads(text_of(result)) == result.structured_content
    return result.structured_content


async def use_all_five(client: Client, thing: str) -> None:
    """Learn something about a thing of the user's, recall it, set and load a preference, and forget the thing."""
    learned = await ask(client, "remember_fact", fact=f"Ana's {thing} is blue.")
    found = await ask(client, "recall", query=f"What colour is the {thing}?", max_tokens=4000)
    assert learned["id"] in [memory["id"] for memory in found["memories"]]
    assert (await ask(client, "set_preference", key="tone", value=thing))["value"] == thing
    assert f"- tone: {thing}" in (await ask(client, "load_context"))["context"]
    assert (await ask(client, "forget", id=learned["id"]))["removed"] == 1
    found = await ask(client, "recall", query=f"What colour is the {thing}?", max_tokens=4000)
    assert learned["id"] not in [memory["id"] for memory in found["memories"]]


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def stored(memory: Memory, scope: Scope = ANA) -> list[str]:
    """Return everything that is stored of the user, without the line that says when it was asked for."""
    return [line async for line in memory.archive.export(scope)][1:]
