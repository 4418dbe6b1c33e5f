"""A fact can be replaced by its id: whatever the new one is about, the old one is history."""

import pytest

from mcp_memory_server.domain.facts import Fact, Outcome, Source, Standing, Statement
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.errors import NotFoundError
from mcp_memory_server.memory import Memory

pytestmark = pytest.mark.anyio


async def learned(memory: Memory, anna: Scope, text: str, topic: str | None = None) -> Fact:
    return (await memory.facts.learn(anna, Statement(text, topic=topic))).fact


async def known(memory: Memory, anna: Scope) -> list[tuple[str | None, str]]:
    return [(fact.topic, fact.text) for fact in await memory.facts.all(anna)]


async def test_a_fact_without_a_topic_is_replaced(memory: Memory, anna: Scope) -> None:
    old = await learned(memory, anna, "Has a cat")

    new = await memory.facts.learn(anna, Statement("Has a dog"), replaces=old.id)

    assert new.earlier is not None
    assert (new.outcome, new.earlier.text) == (Outcome.SUPERSEDED, "Has a cat")
    assert await known(memory, anna) == [(None, "Has a dog")]


async def test_the_new_fact_takes_over_the_topic(memory: Memory, anna: Scope) -> None:
    old = await learned(memory, anna, "Has a cat", "pets")

    await memory.facts.learn(anna, Statement("Has a dog"), replaces=old.id)

    assert await known(memory, anna) == [("pets", "Has a dog")]
    assert [fact.text for fact in await memory.facts.history(anna, "pets")] == ["Has a cat", "Has a dog"]


async def test_the_new_fact_may_have_a_topic_of_its_own(memory: Memory, anna: Scope) -> None:
    old = await learned(memory, anna, "Has a cat", "animals")

    await memory.facts.learn(anna, Statement("Has a dog", topic="pets"), replaces=old.id)

    assert await known(memory, anna) == [("pets", "Has a dog")]
    assert [fact.text for fact in await memory.facts.history(anna, "animals")] == ["Has a cat"]


async def test_a_fact_can_be_given_a_topic(memory: Memory, anna: Scope) -> None:
    old = await learned(memory, anna, "Has a cat")

    moved = await memory.facts.learn(anna, Statement("Has a cat", topic="pets"), replaces=old.id)

    assert (moved.outcome, moved.fact.support, moved.fact.valid_from) == (Outcome.SUPPORTED, 2, old.valid_from)
    assert await known(memory, anna) == [("pets", "Has a cat")]
    assert await memory.facts.get(anna, moved.fact.id) == moved.fact


async def test_both_the_named_fact_and_that_of_the_topic_become_history(memory: Memory, anna: Scope) -> None:
    named = await learned(memory, anna, "Has a cat", "animals")
    await learned(memory, anna, "Has a fish", "pets")

    await memory.facts.learn(anna, Statement("Has a dog", topic="pets"), replaces=named.id)

    assert await known(memory, anna) == [("pets", "Has a dog")]
    assert [fact.text for fact in await memory.facts.history(anna, "animals")] == ["Has a cat"]
    assert [fact.text for fact in await memory.facts.history(anna, "pets")] == ["Has a fish", "Has a dog"]


async def test_a_fact_that_is_known_already_may_replace_another(memory: Memory, anna: Scope) -> None:
    wrong = await learned(memory, anna, "Has a cat", "animals")
    await learned(memory, anna, "Has a dog", "pets")

    new = await memory.facts.learn(anna, Statement("Has a dog", topic="pets"), replaces=wrong.id)

    assert (new.outcome, new.fact.support) == (Outcome.SUPPORTED, 2)
    assert await known(memory, anna) == [("pets", "Has a dog")]


async def test_a_candidate_is_replaced_and_was_never_true(memory: Memory, anna: Scope) -> None:
    await learned(memory, anna, "Has a cat", "pets")
    guess = await memory.facts.learn(anna, Statement("Has a fish", topic="pets", source=Source.INFERRED))

    await memory.facts.learn(anna, Statement("Has a dog"), replaces=guess.fact.id)

    assert await known(memory, anna) == [("pets", "Has a dog")]
    assert [fact.text for fact in await memory.facts.history(anna, "pets")] == ["Has a cat", "Has a dog"]


async def test_an_inference_does_not_replace_what_the_user_said_even_by_its_id(memory: Memory, anna: Scope) -> None:
    said = await learned(memory, anna, "Has a cat")

    guess = await memory.facts.learn(anna, Statement("Has a dog", source=Source.INFERRED), replaces=said.id)

    assert (guess.outcome, guess.fact.standing) == (Outcome.CANDIDATE, Standing.CANDIDATE)
    assert (None, "Has a cat") in await known(memory, anna)


async def test_an_inference_about_another_topic_leaves_what_the_user_said(memory: Memory, anna: Scope) -> None:
    said = await learned(memory, anna, "Has a cat", "animals")
    await memory.facts.learn(anna, Statement("Has a fish", topic="pets", source=Source.INFERRED))

    guess = Statement("Has a dog", topic="pets", source=Source.INFERRED, confidence=0.8)
    await memory.facts.learn(anna, guess, replaces=said.id)

    assert await known(memory, anna) == [("animals", "Has a cat"), ("pets", "Has a dog")]


async def test_what_is_not_there_cannot_be_replaced(memory: Memory, anna: Scope) -> None:
    old = await learned(memory, anna, "Has a cat", "pets")
    await learned(memory, anna, "Has a dog", "pets")

    for gone in ("nonsense", old.id):
        with pytest.raises(NotFoundError, match="`recall` shows the ids"):
            await memory.facts.learn(anna, Statement("Has a fish"), replaces=gone)
    assert await known(memory, anna) == [("pets", "Has a dog")]


async def test_a_fact_of_someone_else_cannot_be_replaced(memory: Memory, anna: Scope) -> None:
    old = await learned(memory, anna, "Has a cat", "pets")

    with pytest.raises(NotFoundError):
        await memory.facts.learn(Scope("ben"), Statement("Has a dog"), replaces=old.id)
