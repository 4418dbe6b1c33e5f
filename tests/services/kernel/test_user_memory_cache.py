"""The copy in memory is used only while it is the truth, and never grows without end."""

import pytest

from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.kernel.items import Put, Update
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema import keys
from mcp_memory_server.services.kernel import user_memory_cache as known_memories
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache
from mcp_memory_server.wiring import running
from tests.clock import FakeClock
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio


async def texts(memory: Memory, owner: Scope) -> set[str]:
    return {fact.text for fact in await memory.facts.all(owner)}


async def test_a_copy_is_used_while_nothing_changes_and_only_what_changed_is_read_again(
    memory: Memory, anna: Scope
) -> None:
    watched = WatchedTable(memory.table)
    known = UserMemoryCache(watched.as_table)
    await memory.facts.learn(anna, Statement("Has a cat"))

    first, second = await known.of(anna), await known.of(anna)
    queries = watched.calls["query"]
    await memory.facts.learn(anna, Statement("Has a dog"))
    third = await known.of(anna)

    assert second is first
    assert (queries, watched.calls["query"], watched.calls["get_many"]) == (1, 1, 1)
    assert {row.text for row in third.rows} == {"Has a cat", "Has a dog"}


@pytest.mark.parametrize("operation_id", [None, "the same"])
async def test_the_copy_of_an_erased_user_is_never_served_for_one_that_began_anew(
    memory: Memory, other_process: Memory, anna: Scope, operation_id: str | None
) -> None:
    await memory.facts.learn(anna, Statement("Has a secret"))
    await memory.facts.learn(anna, Statement("Has a cat"), operation_id=operation_id)
    assert await texts(memory, anna) == {"Has a secret", "Has a cat"}

    await other_process.erasure.forget_user(anna)
    await other_process.facts.learn(anna, Statement("Has a dog"))
    await other_process.facts.learn(anna, Statement("Has a cat"), operation_id=operation_id)

    assert await texts(memory, anna) == {"Has a dog", "Has a cat"}


async def test_the_copy_of_an_erased_user_is_empty(memory: Memory, other_process: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Has a secret"))
    await texts(memory, anna)

    await other_process.erasure.forget_user(anna)

    assert await texts(memory, anna) == set()


async def test_the_version_of_an_earlier_release_is_understood(
    memory: Memory, other_process: Memory, anna: Scope
) -> None:
    await memory.table.write(
        [Put(keys.fact_key(anna, "0123456789ab"), {"text": "Has a cat"}), Update(keys.profile_key(anna), {"stamp": 1})]
    )
    assert await texts(memory, anna) == {"Has a cat"}

    await other_process.facts.learn(anna, Statement("Has a dog", topic="more"))

    assert await texts(memory, anna) == {"Has a cat", "Has a dog"}


async def test_the_users_seen_last_are_kept_and_the_others_are_read_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_memories, "USERS_KEPT", 20)
    watched = WatchedTable(memory.table)
    known = UserMemoryCache(watched.as_table)
    users = [Scope(f"user {number}") for number in range(21)]
    for user in users:
        await known.of(user)
    watched.calls.clear()

    await known.of(users[-1])
    await known.of(users[1])
    kept = watched.calls["query"]
    await known.of(users[0])

    assert kept == 0
    assert watched.calls["query"] == 1


@pytest.mark.parametrize("replaces", [None, "topic", "ids"])
async def test_a_process_that_has_not_seen_the_user_learns_without_reading_everything(
    memory: Memory, anna: Scope, clock: FakeClock, replaces: str | None
) -> None:
    bern = (await memory.facts.learn(anna, Statement("Ana lives in Bern.", topic="Home/City"))).fact
    for number in range(30):
        await memory.facts.learn(anna, Statement(f"Knows person {number}", topic=f"people/{number}"))
    watched = WatchedTable(memory.table)

    async with running(watched.as_table, now=clock) as again:
        named = [bern.id] if replaces == "ids" else replaces
        learned = await again.facts.learn(anna, Statement("Ana lives in Basel.", topic="home/city"), replaces=named)

    assert [fact.text for fact in learned.superseded] == ["Ana lives in Bern."]
    assert learned.fact.topic == "Home/City"
    assert watched.calls["query"] == 2  # whether an earlier release stored anything
    assert len(await memory.facts.all(anna)) == 31


async def test_own_writes_that_nobody_asked_about_are_not_a_reason_to_read_everything_again(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    await memory.facts.learn(anna, Statement("Has a cat"))
    watched = WatchedTable(memory.table)

    async with running(watched.as_table, now=clock) as again:
        await again.facts.all(anna)
        for number in range(30):
            await again.facts.learn(anna, Statement(f"Knows person {number}"))
        await again.facts.learn(anna, Statement("Has a dog", topic="pets"))
        found = await again.facts.all(anna)

    assert len(found) == 32
    assert watched.calls["query"] == 1


async def test_what_is_written_while_it_is_being_read_is_not_missed(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Has a cat"))
    watched = WatchedTable(memory.table)
    watched.before["query"] = lambda: memory.facts.learn(anna, Statement("Has a dog"))
    known = UserMemoryCache(watched.as_table)

    await known.of(anna)
    now = await known.of(anna)

    assert {row.text for row in now.rows} == {"Has a cat", "Has a dog"}
