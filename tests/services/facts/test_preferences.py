"""Preferences in a real file: one value per key, and the choice of the user is kept."""

import pytest

from mcp_memory_server.domain.facts.preferences import SetBy
from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema import keys
from mcp_memory_server.wiring import running
from tests.clock import FakeClock
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio


async def values(memory: Memory, owner: Scope) -> dict[str, tuple[str, SetBy]]:
    return {found.key: (found.value, found.set_by) for found in await memory.preferences.all(owner)}


async def test_a_new_value_replaces_the_earlier_one_and_returns_it(memory: Memory, anna: Scope) -> None:
    first = await memory.preferences.set(anna, "tone", "brief")
    second = await memory.preferences.set(anna, "tone", "warm")

    assert first.earlier is None
    assert second.earlier == first.preference
    assert await values(memory, anna) == {"tone": ("warm", SetBy.USER)}


async def test_a_default_never_replaces_what_the_user_set(memory: Memory, anna: Scope) -> None:
    await memory.preferences.set(anna, "tone", "brief")

    change = await memory.preferences.set(anna, "tone", "warm", set_by=SetBy.DEFAULT)

    assert (change.changed, change.preference.value) == (False, "brief")
    assert await values(memory, anna) == {"tone": ("brief", SetBy.USER)}


async def test_the_user_replaces_a_default_even_with_the_same_value(memory: Memory, anna: Scope) -> None:
    await memory.preferences.set(anna, "tone", "brief", set_by=SetBy.DEFAULT)

    change = await memory.preferences.set(anna, "tone", "brief")

    assert change.changed
    assert await values(memory, anna) == {"tone": ("brief", SetBy.USER)}


async def test_all_preferences_are_read_with_one_query(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    for number in range(30):
        await memory.preferences.set(anna, f"key {number:02}", "value")
    watched = WatchedTable(memory.table)

    async with running(watched.as_table, now=clock) as again:
        found = await again.preferences.all(anna)

    assert [preference.key for preference in found] == [f"key {number:02}" for number in range(30)]
    assert watched.calls == {"query": 1}


@pytest.mark.parametrize("key", ["a#b", "a/b", "a%23b", "~", "é", "e\u0301", "line\nbreak", "🦊", "\x00"])
async def test_a_key_may_hold_anything(memory: Memory, anna: Scope, key: str) -> None:
    await memory.preferences.set(anna, "other", "value")
    await memory.preferences.set(anna, key, "value")

    assert (await values(memory, anna)).keys() == {"other", key}


async def test_attributes_of_a_later_release_survive_a_new_value(memory: Memory, anna: Scope) -> None:
    key = keys.preference_key(anna, "tone")
    await memory.table.put(Put(key, {"value": "brief", "set_by": "default", "scope": ["mail"]}))

    await memory.preferences.set(anna, "tone", "warm")

    item = await memory.table.get(key)
    assert item is not None
    assert (item.body["value"], item.body["scope"]) == ("warm", ["mail"])


async def test_a_key_in_another_case_is_that_of_the_same_preference_as_first_written(
    memory: Memory, anna: Scope
) -> None:
    await memory.preferences.set(anna, "Tone", "brief")
    change = await memory.preferences.set(anna, "TONE", "warm")

    assert change.earlier is not None
    assert (change.earlier.value, change.preference.key) == ("brief", "Tone")
    assert await values(memory, anna) == {"Tone": ("warm", SetBy.USER)}


async def test_keys_that_an_earlier_release_stored_in_several_cases_become_one(memory: Memory, anna: Scope) -> None:
    for key, value in (("Tone", "brief"), ("TONE", "warm")):
        await memory.table.put(Put(Key(keys.user_partition("anna"), f"PREF#{key}"), {"value": value}))

    await memory.preferences.set(anna, "tone", "kind")

    assert [value for value, _ in (await values(memory, anna)).values()] == ["kind"]


async def test_a_preference_is_forgotten_by_its_key_in_any_case(memory: Memory, anna: Scope) -> None:
    await memory.preferences.set(anna, "Tone", "brief")

    await memory.erasure.forget(anna, "pref:tone")

    assert await values(memory, anna) == {}
