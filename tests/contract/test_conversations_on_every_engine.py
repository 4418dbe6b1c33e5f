"""Conversations keep their promises on every table."""

import asyncio
import random

import pytest

from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.turns import NewTurn, Role, View
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.services.conversations import Conversations
from mcp_memory_server.wiring import assemble
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

CHAT = Scope("anna", "chat#1")


async def test_turns_come_back_in_order_with_their_counters(item_table: ItemTable, clock: FakeClock) -> None:
    conversations = Conversations(item_table, count_tokens, clock)
    for number in range(12):
        await conversations.append(CHAT, NewTurn(Role.USER, f"Turn {number}", token_count=3))

    loaded = await conversations.load(CHAT, turns=5)
    older, cursor = await conversations.before(CHAT, loaded.cursor or "", turns=10)

    assert [turn.content for turn in (*older, *loaded.turns)] == [f"Turn {number}" for number in range(12)]
    assert (loaded.turn_count, loaded.token_count, cursor) == (12, 36, None)


async def test_a_turn_of_a_megabyte_comes_back_as_it_was(item_table: ItemTable, clock: FakeClock) -> None:
    conversations = Conversations(item_table, count_tokens, clock)
    content = random.Random(1).randbytes(500_000).hex()

    await conversations.append(CHAT, NewTurn(Role.TOOL, content, tool_calls=({"name": "read", "cost": 0.5},)))

    (turn,) = (await conversations.load(CHAT, view=View.EVERYTHING)).turns
    assert turn.content == content
    assert turn.tool_calls == ({"name": "read", "cost": 0.5},)


async def test_an_operation_that_is_repeated_is_one_turn(item_table: ItemTable, clock: FakeClock) -> None:
    conversations = Conversations(item_table, count_tokens, clock)

    answers = [await conversations.append(CHAT, NewTurn(Role.USER, "Book it"), operation_id="m-1") for _ in range(3)]

    assert len({answer.turn.id for answer in answers}) == 1
    assert (await conversations.load(CHAT)).turn_count == 1


async def test_parallel_appends_are_all_kept_and_counted(item_table: ItemTable, clock: FakeClock, engine: str) -> None:
    if engine == "moto":
        pytest.skip("moto does not make conditional writes atomic")
    conversations = Conversations(item_table, count_tokens, clock)

    await asyncio.gather(*(conversations.append(CHAT, NewTurn(Role.USER, f"{n}", token_count=1)) for n in range(40)))

    loaded = await conversations.load(CHAT, turns=100)
    assert sorted(int(turn.content) for turn in loaded.turns) == list(range(40))
    assert loaded.turn_count == 40


async def test_forgetting_a_user_leaves_no_conversation(item_table: ItemTable, clock: FakeClock) -> None:
    memory = assemble(item_table, now=clock)
    await memory.conversations.append(CHAT, NewTurn(Role.USER, "A secret"))
    await memory.chats.create(Scope("anna"), "shop")

    await memory.erasure.forget_user(Scope("anna"))

    assert (await memory.conversations.load(CHAT)).turns == ()
    assert await memory.chats.active(Scope("anna"), "shop") is None
