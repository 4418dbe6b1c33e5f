"""Many writers at once, in two processes' worth of connections: nothing that was acknowledged is lost."""

import asyncio

import pytest

from mcp_memory_server.domain.facts.fact import Standing, Statement
from mcp_memory_server.domain.facts.notes import NoteKind
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import ForgottenError
from mcp_memory_server.memory import Memory

pytestmark = pytest.mark.anyio

MANY = 50
CITY = "personal/location/city"


async def test_of_many_values_of_one_topic_one_holds_and_all_others_are_history(
    memory: Memory, other_process: Memory, anna: Scope
) -> None:
    cities = [f"Ana lives in Town{number}" for number in range(MANY)]
    writers = [memory, other_process]

    await asyncio.gather(
        *(writers[number % 2].facts.learn(anna, Statement(city, topic=CITY)) for number, city in enumerate(cities))
    )

    history = await memory.facts.history(anna, CITY)
    assert sorted(fact.text for fact in history) == sorted(cities)
    assert [fact.standing for fact in history] == [Standing.PAST] * (MANY - 1) + [Standing.CURRENT]
    assert [fact.valid_to for fact in history[:-1]] == [fact.valid_from for fact in history[1:]]


async def test_of_many_repetitions_none_is_lost(memory: Memory, other_process: Memory, anna: Scope) -> None:
    writers = [memory, other_process] * 10

    await asyncio.gather(*(writer.facts.learn(anna, Statement("Has a cat", topic="pets")) for writer in writers))

    assert [fact.support for fact in await memory.facts.all(anna)] == [20]


async def test_many_different_memories_of_one_user_are_all_kept(
    memory: Memory, other_process: Memory, anna: Scope
) -> None:
    await asyncio.gather(
        *(memory.facts.learn(anna, Statement(f"Fact {number}")) for number in range(MANY)),
        *(other_process.preferences.set(anna, f"key {number}", "value") for number in range(MANY)),
        *(other_process.notes.add(anna, NoteKind.PATTERN, f"pattern {number}") for number in range(MANY)),
    )

    assert len(await other_process.facts.all(anna)) == MANY
    assert len(await memory.preferences.all(anna)) == MANY
    assert len(await memory.notes.all(anna)) == MANY


async def test_the_last_of_many_values_of_one_preference_was_told_what_held_before(
    memory: Memory, other_process: Memory, anna: Scope
) -> None:
    writers = [memory, other_process] * 8

    changes = await asyncio.gather(
        *(writer.preferences.set(anna, "tone", f"value {number}") for number, writer in enumerate(writers))
    )

    told = {change.earlier.value for change in changes if change.earlier}
    [holds] = await memory.preferences.all(anna)
    assert told | {holds.value} == {f"value {number}" for number in range(16)}
    assert len(told) == 15


async def test_what_is_learned_while_it_is_being_forgotten_is_either_gone_or_refused(
    memory: Memory, other_process: Memory, anna: Scope
) -> None:
    fact = (await memory.facts.learn(anna, Statement("Has a cat", topic="pets"))).fact

    results = await asyncio.gather(
        memory.erasure.forget(anna, fact.id),
        *(other_process.facts.learn(anna, Statement("Has a cat", topic="pets")) for _ in range(10)),
        return_exceptions=True,
    )

    assert not isinstance(results[0], BaseException)
    assert all(isinstance(result, ForgottenError) for result in results if isinstance(result, BaseException))
    assert await memory.facts.all(anna) == []
