"""Turns that were said one after another are stored in order, each once, in one write of the table."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest

from mcp_memory_server.adapters.redis.sessions import open_redis
from mcp_memory_server.domain.kernel.items import Write
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.memory import Memory
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.services.conversations.conversations import Conversations
from mcp_memory_server.wiring import SessionBackends, running
from tests.clock import FakeClock
from tests.engines.servers import RedisServer

pytestmark = pytest.mark.anyio

CHAT = Scope("ana", "chat#1")
PATIENCE = timedelta(seconds=30)


@pytest.fixture
async def memory(item_table: ItemTable, clock: FakeClock) -> AsyncIterator[Memory]:
    async with running(item_table, now=clock) as memory:
        yield memory


@pytest.fixture
def conversations(memory: Memory) -> Conversations:
    return memory.conversations


def said(*texts: str) -> list[NewTurn]:
    return [NewTurn((Role.USER, Role.ASSISTANT)[number % 2], text, token_count=3) for number, text in enumerate(texts)]


async def test_they_come_back_in_order_with_exact_counters(conversations: Conversations) -> None:
    first = await conversations.append_all(CHAT, said("Where is it?", "On the shelf."))
    second = await conversations.append_all(CHAT, said("Which one?", "The second.", "Thanks."))

    loaded = await conversations.load(CHAT, turns=10)
    assert [turn.content for turn in loaded.turns] == [one.turn.content for one in (*first, *second)]
    assert [turn.id for turn in loaded.turns] == [one.turn.id for one in (*first, *second)]
    assert (loaded.turn_count, loaded.token_count) == (5, 15)


async def test_repeating_them_stores_and_counts_nothing_twice(conversations: Conversations) -> None:
    first = await conversations.append_all(CHAT, said("Where is it?", "On the shelf."), operation_ids=("a", "b"))
    again = await conversations.append_all(
        CHAT, said("Where is it?", "On the shelf.", "Thanks."), operation_ids=("a", "b", "c")
    )

    assert [one.repeated for one in again] == [True, True, False]
    assert [one.turn.id for one in again[:2]] == [one.turn.id for one in first]
    loaded = await conversations.load(CHAT, turns=10)
    assert [turn.content for turn in loaded.turns] == ["Where is it?", "On the shelf.", "Thanks."]
    assert loaded.turn_count == 3


async def test_after_the_first_turns_of_a_session_they_take_one_write(memory: Memory) -> None:
    await memory.conversations.append_all(CHAT, said("Hello.", "Hello."))
    written: list[Sequence[Write]] = []
    write: Any = memory.table.write

    async def counted(writes: Sequence[Write], **more: Any) -> None:
        written.append(writes)
        await write(writes, **more)

    with (
        patch.object(memory.table, "write", counted),
        patch.object(memory.table, "put", side_effect=AssertionError),
        patch.object(memory.table, "update", side_effect=AssertionError),
    ):
        await memory.conversations.append_all(CHAT, said("Where is it?", "On the shelf."))

    assert [len(writes) for writes in written] == [2]


async def test_more_than_one_write_takes_and_long_texts_are_stored_in_order_too(conversations: Conversations) -> None:
    texts = [f"Turn {number}" for number in range(21)]
    texts[4] = "x" * 700_000

    await conversations.append_all(CHAT, said(*texts))

    loaded = await conversations.load(CHAT, turns=30)
    assert [turn.content for turn in loaded.turns] == texts
    assert loaded.turn_count == 21


async def test_another_process_counts_them_exactly(item_table: ItemTable, memory: Memory, clock: FakeClock) -> None:
    async with running(item_table, now=clock) as other:
        for number in range(4):
            writer = (memory, other)[number % 2]
            await writer.conversations.append_all(CHAT, said(f"Question {number}", f"Answer {number}"))

            loaded = await other.conversations.load(CHAT, turns=20)
            assert loaded.turn_count == 2 * (number + 1)
        at_last = await other.conversations.load(CHAT, turns=20)

    assert [turn.content for turn in at_last.turns][-2:] == ["Question 3", "Answer 3"]


async def test_credentials_are_redacted_in_each(conversations: Conversations) -> None:
    appended = await conversations.append_all(CHAT, said("Hello.", "The key is AKIAIOSFODNN7EXAMPLE."))

    assert [one.redacted for one in appended] == [0, 1]
    assert "AKIA" not in "".join([turn.content for turn in (await conversations.load(CHAT, turns=5)).turns])


async def test_each_turn_needs_its_operation_id(conversations: Conversations) -> None:
    with pytest.raises(InvalidRequestError, match="2 turns need 2 operation ids, got 1"):
        await conversations.append_all(CHAT, said("Hello.", "Hello."), operation_ids=["a"])


@pytest.fixture
async def cached(item_table: ItemTable, clock: FakeClock, shared_redis: RedisServer) -> AsyncIterator[Conversations]:
    sessions = open_redis(shared_redis.url, deadline=PATIENCE, settling=timedelta(0))
    beside = SessionBackends(sessions.cache, deadlines=sessions.deadlines)
    async with running(item_table, beside, now=clock) as memory:
        yield memory.conversations
    await sessions.close()


async def test_with_a_session_cache_they_are_stored_in_order_with_one_write(
    cached: Conversations, item_table: ItemTable
) -> None:
    chat = Scope("ana", uuid4().hex)
    await cached.append_all(chat, said("Where is it?", "On the shelf."))

    with patch.object(item_table, "put", side_effect=AssertionError("each by itself")):
        await cached.append_all(chat, said("Which one?", "The second.", "Thanks."))

    for turns in (None, 10):
        loaded = await cached.load(chat, turns=turns)
        assert [turn.content for turn in loaded.turns] == [
            "Where is it?",
            "On the shelf.",
            "Which one?",
            "The second.",
            "Thanks.",
        ]
        assert (loaded.turn_count, loaded.token_count) == (5, 15)


async def test_with_a_session_cache_repeating_them_stores_and_counts_nothing_twice(cached: Conversations) -> None:
    chat = Scope("ana", uuid4().hex)
    first = await cached.append_all(chat, said("Where is it?", "On the shelf."), operation_ids=("a", "b"))
    again = await cached.append_all(
        chat, said("Where is it?", "On the shelf.", "Thanks."), operation_ids=("a", "b", "c")
    )

    assert [one.repeated for one in again] == [True, True, False]
    assert [one.turn.id for one in again[:2]] == [one.turn.id for one in first]
    for turns in (None, 10):
        loaded = await cached.load(chat, turns=turns)
        assert [turn.content for turn in loaded.turns] == ["Where is it?", "On the shelf.", "Thanks."]
        assert loaded.turn_count == 3
