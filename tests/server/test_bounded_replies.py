"""However much is stored, a reply is bounded, and everything can still be read."""

import json
from datetime import timedelta
from typing import Any

import pytest

from mcp_memory_server import Memory, NewTurn, Role, Scope
from mcp_memory_server.server.conversation_tools import REPLY_BYTES, load_session, tool_log
from mcp_memory_server.server.resources import LONGEST_PAGE, read_resource
from tests.server.asking import ANA

pytestmark = pytest.mark.anyio

CHAT = Scope("ana", "chat 1")
LONG = 600_000
TURNS = 12
DETAILS = {"text": "d" * 60_000}


@pytest.fixture
async def long_turns(memory: Memory) -> list[str]:
    """Turns that are as long as a book, and next to nothing when they are stored."""
    contents = [f"{number:02} " + "word " * (LONG // 5) for number in range(TURNS)]
    for content in contents:
        await memory.conversations.append(
            CHAT, NewTurn(Role.USER, content, page_context=DETAILS, token_count=LONG // 5)
        )
    return contents


async def loaded(memory: Memory, **arguments: Any) -> dict[str, Any]:
    reply = await load_session.call(memory, ANA, {"session_id": "chat 1", **arguments})
    assert len(json.dumps(reply)) < 2 * REPLY_BYTES
    return reply


@pytest.mark.usefixtures("long_turns")
async def test_the_default_load_keeps_to_the_order_of_its_budget(memory: Memory) -> None:
    reply = await loaded(memory)

    assert len(json.dumps(reply)) < 40_000
    assert all(turn["continues_at"] < turn["characters"] for turn in reply["turns"])


@pytest.mark.parametrize("view", ["summary", "everything"])
async def test_many_long_turns_come_page_by_page(memory: Memory, long_turns: list[str], view: str) -> None:
    reply = await loaded(memory, turns=100, view=view)
    found = reply["turns"]
    while "cursor" in reply:
        reply = await loaded(memory, turns=100, view=view, before=reply["cursor"])
        found = reply["turns"] + found

    assert [turn["content"][:2] for turn in found] == [content[:2] for content in long_turns]


async def test_a_long_turn_can_be_read_to_its_end(memory: Memory, long_turns: list[str]) -> None:
    text, offset = "", 0
    while offset is not None:
        (turn,) = (await loaded(memory, turns=1, offset=offset))["turns"]
        text, offset = text + turn["content"], turn.get("continues_at")

    assert text == long_turns[-1]


async def test_many_short_turns_still_come_in_one_reply(memory: Memory) -> None:
    for number in range(300):
        await memory.conversations.append(CHAT, NewTurn(Role.USER, f"Turn {number}"))

    reply = await loaded(memory, turns=300)

    assert (len(reply["turns"]), "cursor" in reply) == (300, False)


async def test_the_tool_log_is_bounded(memory: Memory) -> None:
    for number in range(210):
        inputs = {f"{key}": "x" * 500 for key in range(20)}
        memory.tool_log.record(CHAT, f"tool {number}", inputs, "y" * 5000, duration=timedelta(0))
        if number % 100 == 0:
            await memory.tool_log.drain()

    reply = await tool_log.call(memory, ANA, {"limit": 200})

    assert len(json.dumps(reply)) < 8 * REPLY_BYTES


async def test_a_resource_is_bounded(memory: Memory) -> None:
    for number in range(600):
        await memory.preferences.set(ANA, f"key {number}", f"{number} " + "word " * 300)

    (content,) = (await read_resource(memory, ANA, "memory://preferences")).contents

    text = content.model_dump()["text"]
    assert LONGEST_PAGE - 10_000 < len(text) < LONGEST_PAGE + 200
    assert text.endswith("memory://facts/<topic>.")
