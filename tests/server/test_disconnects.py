"""A client that leaves: its sessions are over, and the next one is told of them."""

import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from mcp_memory_server import Scope, Settings, open_memory
from tests.faults.clients import environment

pytestmark = pytest.mark.anyio


def server(table: Path) -> StdioServerParameters:
    arguments = ["-m", "mcp_memory_server", "serve", "--tools", "conversation"]
    return StdioServerParameters(command=sys.executable, args=arguments, env=environment(f"sqlite://{table}"))


async def test_a_client_that_leaves_is_summed_up_for_the_next_one(tmp_path: Path) -> None:
    table = tmp_path / "memory.db"
    turn = {"session_id": "one", "role": "user", "content": "I prefer window seats on the train to Madrid."}
    async with Client(server(table)) as client:
        await client.call_tool("append_turn", turn)

    async with open_memory(Settings(table=f"sqlite://{table}", summarizer="none")) as memory:
        (summary,) = await memory.summaries.all(Scope("ana"))
        loaded = await memory.conversations.load(Scope("ana", "one"))
    async with Client(server(table)) as client:
        answer = await client.call_tool("load_context", {"session_id": "two"})

    assert (summary.id, summary.turn_count) == ("one", 1)
    assert loaded.ended_at is not None
    assert answer.structured_content is not None
    assert "## Last conversation" in answer.structured_content["context"]
