"""Conversations keep their promises on every table, with a session cache and without."""

import asyncio
import random
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.turns import NewTurn, Role, View
from mcp_memory_server.memory import Memory
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.services.conversations.conversations import Conversations
from mcp_memory_server.wiring import SessionBackends, running
from tests.clock import FakeClock
from tests.stores.sessions import RedisStores

pytestmark = pytest.mark.anyio

CHAT = Scope("anna", "chat#1")


@pytest.fixture(params=["without a cache", "cached in redis"])
async def memory(request: pytest.FixtureRequest, item_table: ItemTable, clock: FakeClock) -> AsyncIterator[Memory]:
    if request.param == "without a cache":
        async with running(item_table, SessionBackends(), now=clock) as memory:
            yield memory
        return
    stores = await RedisStores(request.getfixturevalue("shared_redis").url, namespace=uuid4().hex).open(clock)
    async with running(
        item_table, SessionBackends(stores.cache, stores.channel, stores.deadlines), now=clock
    ) as memory:
        yield memory
    await stores.close()


@pytest.fixture
def conversations(memory: Memory) -> Conversations:
    return memory.conversations


async def test_turns_come_back_in_order_with_their_counters(conversations: Conversations) -> None:
    for number in range(12):
        await conversations.append(CHAT, NewTurn(Role.USER, f"Turn {number}", token_count=3))

    loaded = await conversations.load(CHAT, turns=5)
    older = await conversations.before(CHAT, loaded.cursor or "", turns=10)

    assert [turn.content for turn in (*older.turns, *loaded.turns)] == [f"Turn {number}" for number in range(12)]
    assert (loaded.turn_count, loaded.token_count, older.cursor) == (12, 36, None)
    assert (await conversations.load(CHAT)).turns == (*older.turns, *loaded.turns)


async def test_a_turn_of_a_megabyte_comes_back_as_it_was(conversations: Conversations) -> None:
    content = random.Random(1).randbytes(500_000).hex()

    await conversations.append(CHAT, NewTurn(Role.TOOL, content, tool_calls=({"name": "read", "cost": 0.5},)))

    (turn,) = (await conversations.load(CHAT, view=View.EVERYTHING)).turns
    assert turn.content == content
    assert turn.tool_calls == ({"name": "read", "cost": 0.5},)


async def test_an_operation_that_is_repeated_is_one_turn(conversations: Conversations) -> None:
    answers = [await conversations.append(CHAT, NewTurn(Role.USER, "Book it"), operation_id="m-1") for _ in range(3)]

    assert len({answer.turn.id for answer in answers}) == 1
    assert (await conversations.load(CHAT)).turn_count == 1


async def test_parallel_appends_are_all_kept_and_counted(conversations: Conversations, engine: str) -> None:
    if engine == "moto":
        pytest.skip("moto does not make conditional writes atomic")

    await asyncio.gather(*(conversations.append(CHAT, NewTurn(Role.USER, f"{n}", token_count=1)) for n in range(40)))

    loaded = await conversations.load(CHAT, turns=100)
    assert sorted(int(turn.content) for turn in loaded.turns) == list(range(40))
    assert loaded.turn_count == 40


async def test_forgetting_a_user_leaves_no_conversation(memory: Memory) -> None:
    await memory.conversations.append(CHAT, NewTurn(Role.USER, "A secret"))
    await memory.chats.create(Scope("anna"), "shop")

    await memory.erasure.forget_user(Scope("anna"))

    assert (await memory.conversations.load(CHAT)).turns == ()
    assert await memory.chats.active(Scope("anna"), "shop") is None
