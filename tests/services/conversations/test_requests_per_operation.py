"""What a load and an append cost: the requests that they send, counted by proxies before the real engines."""

from collections.abc import AsyncIterator, Iterator

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from tests.bench.requests_per_operation import (
    HELLO,
    Asked,
    Counted,
    Engines,
    counted_conversations,
    counter_writes_of_a_burst,
)
from tests.engines.servers import RedisServer
from tests.stores.tables import DynamoDbTables

pytestmark = pytest.mark.anyio


@pytest.fixture
def engines(dynamodb_local_tables: DynamoDbTables, shared_redis: RedisServer) -> Iterator[Engines]:
    with dynamodb_local_tables.fresh() as address:
        yield Engines(shared_redis.port, address.endpoint, address.table)


@pytest.fixture
async def counted(engines: Engines) -> AsyncIterator[Counted]:
    """Connected, and with scripts that Redis knows: what is sent for that is not counted."""
    async with counted_conversations(engines) as counted:
        await counted.conversations.append(Scope("bob", "before"), HELLO)
        yield counted


async def test_loading_a_session_at_hand_is_one_request_to_redis_and_none_to_the_table(
    counted: Counted, scope: Scope
) -> None:
    await counted.conversations.append(scope, HELLO)

    asked = await counted.asked(lambda: counted.conversations.load(scope))

    assert asked == Asked(redis=["LOAD"], table=[])


async def test_loading_a_session_that_is_not_at_hand_is_one_query_and_puts_it_at_hand(
    counted: Counted, scope: Scope
) -> None:
    first = await counted.asked(lambda: counted.conversations.load(scope))
    second = await counted.asked(lambda: counted.conversations.load(scope))

    assert first == Asked(redis=["LOAD", "FILL"], table=["Query"])
    assert second == Asked(redis=["LOAD"], table=[])


async def test_loading_the_last_turns_exactly_is_one_query(counted: Counted, scope: Scope) -> None:
    for _ in range(10):
        await counted.conversations.append(scope, HELLO)

    asked = await counted.asked(lambda: counted.conversations.load(scope, turns=20))

    assert asked == Asked(redis=[], table=["Query"])


async def test_appending_to_a_session_at_hand_is_one_request_to_redis_and_one_write(
    counted: Counted, scope: Scope
) -> None:
    await counted.conversations.append(scope, HELLO)

    asked = await counted.asked(lambda: counted.conversations.append(scope, HELLO))

    assert asked == Asked(redis=["APPEND"], table=["PutItem"])


async def test_appending_to_a_new_session_is_one_query_one_write_and_one_announcement(
    counted: Counted, scope: Scope
) -> None:
    asked = await counted.asked(lambda: counted.conversations.append(scope, HELLO))

    assert asked.table == ["Query", "TransactWriteItems", "UpdateItem"]


async def test_a_burst_of_appends_writes_the_counters_twice(engines: Engines) -> None:
    writes = await counter_writes_of_a_burst(engines)

    assert writes == 2  # with the first turn, and at the end
