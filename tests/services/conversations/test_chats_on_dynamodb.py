"""Chats and the tool log on DynamoDB Local: the same promises where a write is a request over a network."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from mcp_memory_server.domain.conversations.chat_lifecycle import Chat
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import ConflictError, NotFoundError
from mcp_memory_server.memory import Memory
from mcp_memory_server.services.conversations.tool_log import ToolLog
from mcp_memory_server.wiring import running
from tests.clock import FakeClock
from tests.stores.tables import DynamoDbTables

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def tables(dynamodb_local_endpoint: str) -> Iterator[DynamoDbTables]:
    with closing(DynamoDbTables(dynamodb_local_endpoint)) as tables:
        yield tables


@pytest.fixture
async def on_dynamodb(tables: DynamoDbTables, clock: FakeClock) -> AsyncIterator[Memory]:
    with tables.fresh() as address:
        table = await address.open(clock)
        async with running(table, now=clock) as memory:
            yield memory
        await table.close()


async def test_a_chat_lives_through_all_its_states(on_dynamodb: Memory, anna: Scope, clock: FakeClock) -> None:
    chats = on_dynamodb.chats
    first = await chats.create(anna, "travel", operation_id="1")
    again = await chats.create(anna, "travel", operation_id="1")
    await chats.set_agent_version(anna, first.id, "2.0")
    clock.advance(timedelta(hours=1))
    second = await chats.renew(anna, "travel", operation_id="2")
    late = await chats.renew(anna, "travel", operation_id="2")
    over = await chats.delete(anna, "travel")

    page = await chats.past(anna, "travel", limit=1)
    rest = await chats.past(anna, "travel", limit=1, cursor=page.cursor)
    assert (again, late) == (first, second)
    assert (page.chats, [chat.agent_version for chat in rest.chats]) == ((over,), ["2.0"])
    assert await chats.active(anna, "travel") is None
    with pytest.raises(NotFoundError):
        await chats.set_agent_version(anna, first.id, "3.0")


async def test_of_many_who_begin_a_chat_at_once_exactly_one_does(on_dynamodb: Memory, anna: Scope) -> None:
    outcomes = await asyncio.gather(
        *(on_dynamodb.chats.create(anna, "travel") for _ in range(8)), return_exceptions=True
    )

    begun = [outcome for outcome in outcomes if isinstance(outcome, Chat)]
    assert begun == [await on_dynamodb.chats.active(anna, "travel")]
    assert [type(outcome) for outcome in outcomes if not isinstance(outcome, Chat)] == [ConflictError] * 7


async def test_a_version_set_while_the_chat_is_renewed_never_lands_on_another(on_dynamodb: Memory, anna: Scope) -> None:
    chats = on_dynamodb.chats
    for number in range(5):
        chat = await chats.renew(anna, "travel", agent_version="old")

        await asyncio.gather(
            chats.set_agent_version(anna, chat.id, f"new {number}"),
            chats.renew(anna, "travel", agent_version="old"),
            return_exceptions=True,
        )

        active = await chats.active(anna, "travel")
        assert active is not None
        assert (active.id != chat.id, active.agent_version) == (True, "old")


async def test_tool_calls_are_found_by_time_and_by_session(on_dynamodb: Memory, anna: Scope, clock: FakeClock) -> None:
    log = ToolLog(on_dynamodb.table, clock)
    for number in range(30):
        log.record(Scope("anna", f"s{number % 2}"), f"tool {number:02}", {"n": number}, "", duration=timedelta(0))
    await log.close()

    first = await log.by_session(anna, "s1", limit=10)
    rest = await log.by_session(anna, "s1", limit=10, cursor=first.cursor)
    assert [call.name for call in (*first.calls, *rest.calls)] == [f"tool {n:02}" for n in range(29, 0, -2)]
    assert [call.inputs for call in (await log.by_time(anna, limit=2)).calls] == [{"n": 29}, {"n": 28}]
    assert (await on_dynamodb.erasure.forget_user(anna)).removed == 30
    assert (await log.by_time(anna)).calls == ()
