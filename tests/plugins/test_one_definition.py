"""A tool is the same wherever a model meets it: over MCP, in Strands, in Agent Squad."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from agent_plugins.agent_squad import MemorySquad, memory_tools
from agent_plugins.memory.agent_tools import MORE_CONTEXT
from agent_plugins.strands import MemoryPlugin
from mcp_memory_server import MEMORY_TOOLS, Memory, Scope, Settings, UnavailableError, open_memory
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import always
from tests.clock import FakeClock
from tests.plugins.agent_squad.conftest import ByName, Clerk

Described = dict[str, tuple[str, dict[str, Any], dict[str, bool]]]
DEFINED: Described = {tool.name: (tool.description, tool.input_schema, tool.hints) for tool in MEMORY_TOOLS}
FOR_AGENTS: Described = {**DEFINED, "load_context": (MORE_CONTEXT, *DEFINED["load_context"][1:])}


@pytest.mark.anyio
async def test_the_server_lists_what_is_defined(tmp_path: Path) -> None:
    async with open_memory(Settings(table=f"sqlite://{tmp_path}/memory.db")) as memory:
        assert await _listed(memory) == DEFINED


def test_an_agent_of_strands_gets_what_is_defined() -> None:
    specs = [tool.tool_spec for tool in MemoryPlugin("ana").tools]

    described = {
        spec["name"]: (spec["description"], spec["inputSchema"]["json"], spec.get("annotations", {})) for spec in specs
    }
    assert described == FOR_AGENTS


def test_an_agent_of_agent_squad_gets_what_is_defined() -> None:
    offered = {tool.name: (tool.func_description, tool.properties, tool.required) for tool in memory_tools()}

    assert offered == {
        name: (description, schema["properties"], schema.get("required", []))
        for name, (description, schema, _hints) in FOR_AGENTS.items()
    }


async def _listed(memory: Memory) -> Described:
    async with Client(build_server(memory, always(Scope("ana")))) as client:
        tools = (await client.list_tools()).tools
    dumped = [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools]
    return {tool["name"]: (tool["description"], tool["inputSchema"], tool["annotations"]) for tool in dumped}


Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
Surface = Callable[[Memory], AbstractAsyncContextManager[Call]]

LISBON = {"fact": "Ana lives in Lisbon.", "topic": "personal/location/city"}
ANSWERED = [
    ("remember_fact", LISBON),
    ("remember_fact", {**LISBON, "fact": "Ana lives in Porto.", "replaces": ["topic"]}),
    ("set_preference", {"key": "tone", "value": "brief"}),
    ("recall", {"query": "Where does Ana live?", "topic": "personal", "max_tokens": "900"}),
    ("load_context", {}),
]
REFUSED = [
    ("recall", {}),
    ("recall", {"query": "Lisbon", "user_id": "ben"}),
    ("recall", {"query": "Lisbon", "as_of": "soon"}),
    ("set_preference", {"key": "tone", "value": 7}),
    ("forget", {"id": "nobody"}),
]


@asynccontextmanager
async def over_mcp(memory: Memory) -> AsyncIterator[Call]:
    async with Client(build_server(memory, always(Scope("ana")))) as client:

        async def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            reply = (await client.call_tool(name, arguments)).structured_content
            assert reply is not None
            reply.pop("call_id", None)  # names a line of the server's log
            return reply

        yield call


@asynccontextmanager
async def in_strands(memory: Memory) -> AsyncIterator[Call]:
    tools = {tool.tool_name: tool for tool in MemoryPlugin("ana", "s1", memory=memory).tools}

    async def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        events = [event async for event in tools[name].stream({"name": name, "toolUseId": "1", "input": arguments}, {})]
        return events[-1]["tool_result"]["content"][0]["json"]

    yield call


@asynccontextmanager
async def in_agent_squad(memory: Memory) -> AsyncIterator[Call]:
    tools = {tool.name: tool for tool in memory_tools()}
    replies: list[str] = []

    async def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        async def use_the_tool(_: str) -> str:
            replies.append(await tools[name].func(**arguments))
            return "Done."

        squad = MemorySquad(classifier=ByName(), memory=memory)
        squad.add_agent(Clerk("orders", use_the_tool))
        await squad.route_request("orders: go", "ana", "s1")
        return json.loads(replies[-1])

    yield call


SURFACES: dict[str, Surface] = {"MCP": over_mcp, "Strands": in_strands, "Agent Squad": in_agent_squad}


async def replies_of(surface: Surface, folder: Path, calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Return the replies to these calls, of a new memory, with each id put as the same word."""
    async with open_memory(Settings(table=f"sqlite://{folder}/memory.db"), now=FakeClock()) as memory:
        async with surface(memory) as call:
            replies = [await call(name, arguments) for name, arguments in calls]
        ids = [fact.id for fact in await memory.facts.all(Scope("ana"), past=True)]
    text = json.dumps(replies)
    for known in ids:
        text = re.sub(rf"\b{known[:8]}\w*", "ID", text)
    return json.loads(text)


@pytest.mark.anyio
@pytest.mark.parametrize("calls", [ANSWERED, REFUSED], ids=["answered", "refused"])
async def test_every_surface_gives_the_same_replies(tmp_path: Path, calls: list[tuple[str, dict[str, Any]]]) -> None:
    replies = {name: await replies_of(surface, tmp_path / name, calls) for name, surface in SURFACES.items()}

    for number, call in enumerate(calls):
        assert replies["Strands"][number] == replies["MCP"][number], call
        assert replies["Agent Squad"][number] == replies["MCP"][number], call
    kinds = [reply.get("error") for reply in replies["MCP"]]
    assert kinds == ([None] * 5 if calls is ANSWERED else ["invalid_request"] * 4 + ["not_found"])


@pytest.mark.anyio
@pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)
async def test_every_surface_says_when_the_memory_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, surface: Surface
) -> None:
    async def search(*_: object, **__: object) -> None:
        raise UnavailableError("the table did not answer in time")

    async with open_memory(Settings(table=f"sqlite://{tmp_path}/memory.db")) as memory, surface(memory) as call:
        monkeypatch.setattr(type(memory.recall), "search", search)
        reply = await call("recall", {"query": "Where does Ana live?"})

    assert reply == {"status": "unavailable", "error": "unavailable", "message": "the table did not answer in time"}
