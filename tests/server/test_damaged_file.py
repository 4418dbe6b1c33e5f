"""A server on a damaged file is there: it shakes hands, lists its tools, and says what is wrong and what to do."""

from pathlib import Path

import pytest
from mcp import Client

from tests.server.asking import ERAS, FIVE_TOOLS, LISBON, Era, ask
from tests.server.processes import over_http, over_stdio

pytestmark = pytest.mark.anyio

CALLS = {
    "remember_fact": LISBON,
    "recall": {"query": "Where does Ana live?"},
    "load_context": {},
    "set_preference": {"key": "tone", "value": "short"},
    "forget": {"id": "0123456789abc"},
}


async def damaged(memory_file: Path) -> None:
    async with Client(over_stdio(memory_file)) as client:
        await ask(client, "remember_fact", **LISBON)
    memory_file.write_bytes(b"\0" * 1000 + memory_file.read_bytes()[1000:])


@pytest.mark.parametrize("era", ERAS)
async def test_every_call_is_answered_with_unavailable_and_the_advice(memory_file: Path, era: Era) -> None:
    await damaged(memory_file)
    before = memory_file.read_bytes()

    async with Client(over_stdio(memory_file), mode=era) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == FIVE_TOOLS
        replies = [await client.call_tool(name, arguments) for name, arguments in CALLS.items()]

    for reply in replies:
        assert reply.is_error
        assert reply.structured_content is not None
        assert reply.structured_content["status"] == "unavailable"
        assert "mcp-memory-server repair" in reply.structured_content["message"]
    assert memory_file.read_bytes() == before


async def test_over_http_too(memory_file: Path) -> None:
    await damaged(memory_file)

    with over_http(memory_file) as served:
        async with Client(served.url) as client:
            reply = await client.call_tool("load_context", {})

    assert reply.structured_content is not None
    assert reply.structured_content["status"] == "unavailable"
