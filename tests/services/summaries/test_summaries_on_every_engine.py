"""Sessions end, are summed up once, folded and paid for on every table alike."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from mcp_memory_server import Memory, NewTurn, Role, Scope
from mcp_memory_server.domain.kernel.spending import Ceiling, Limit, Price, Tokens
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.domain.summaries.summary import Level
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metrics import NoMetrics
from mcp_memory_server.schema.ending_records import ending_from, ending_key
from mcp_memory_server.services.kernel.spending import Spending
from mcp_memory_server.wiring import SessionBackends, running
from tests.clock import FakeClock
from tests.stores.tables import Address

pytestmark = pytest.mark.anyio

ANA = Scope("ana # of / all")
CHAT = Scope(ANA.user_id, "chat #1 /~ é")


@pytest.fixture
async def memory(item_table: ItemTable, clock: FakeClock) -> AsyncIterator[Memory]:
    async with running(item_table, SessionBackends(), now=clock, monotonic=lambda: clock().timestamp()) as one:
        yield one


async def talk(memory: Memory, scope: Scope) -> None:
    await memory.conversations.append(scope, NewTurn(Role.USER, "I work at Acme. Please book a table in Lisbon."))
    await memory.conversations.append(scope, NewTurn(Role.ASSISTANT, "It is booked."))
    await memory.finalizer.watch({scope: Tier.STANDARD})


async def test_a_session_is_found_by_the_table_alone_and_summed_up_once(memory: Memory, clock: FakeClock) -> None:
    await talk(memory, CHAT)
    clock.advance(timedelta(hours=3))

    await asyncio.gather(*(memory.finalizer.finish_due() for _ in range(3)))

    (summary,) = await memory.summaries.all(ANA)
    assert (summary.id, summary.turn_count) == (CHAT.session_id, 2)
    assert ending_from(await memory.table.get(ending_key(CHAT))).times == 1
    assert [fact.text for fact in await memory.facts.all(ANA)] == ["The user works at Acme."]
    assert list(await memory.finalizer.due()) == []


async def test_summaries_fold_for_every_user_that_the_index_lists(memory: Memory, clock: FakeClock) -> None:
    users = [Scope(f"user # {number}") for number in range(3)]
    for number in range(6):
        await talk(memory, Scope(users[number % 3].user_id, f"chat {number}"))
    clock.advance(timedelta(hours=3))
    await memory.finalizer.finish_due()
    clock.advance(timedelta(days=10))

    folded = await memory.finalizer.fold_due()

    assert (folded.users, folded.summaries) == (3, 6)
    assert [[one.level for one in await memory.summaries.all(user)] for user in users] == [[Level.WEEK]] * 3
    assert (await memory.finalizer.fold_due()).summaries == 0


async def test_the_page_begins_with_the_hand_off(memory: Memory) -> None:
    await talk(memory, CHAT)
    await memory.conversations.end(CHAT)
    await memory.finalizer.finish_due()

    page = await memory.context.load(Scope(ANA.user_id, "next"))

    assert "## Last conversation" in page.text


async def test_a_ceiling_is_shared_by_all_who_ask_at_once(
    item_table: ItemTable, table_address: Address, clock: FakeClock
) -> None:
    other = await table_address.open(clock)
    purses = [
        Spending(table, Ceiling(Limit(tokens=5_000)), Price(1, 5), NoMetrics(), clock) for table in (item_table, other)
    ]

    asked = (purses[number % 2].reserve(Scope(f"user {number}"), Tokens(900, 100)) for number in range(16))
    given = [one for one in await asyncio.gather(*asked) if one is not None]

    assert len(given) <= 5
    assert (await purses[1].today()).spent.tokens == 1_000 * len(given)
    await other.close()
