"""A fact can be replaced by its id, whatever the new one is about."""

import pytest

from mcp_memory_server.domain.facts.fact import Fact, Outcome, Source, Standing, Statement
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import InvalidRequestError, NotFoundError
from mcp_memory_server.memory import Memory
from mcp_memory_server.services.facts.facts import TOPIC

pytestmark = pytest.mark.anyio


async def learned(memory: Memory, anna: Scope, text: str, topic: str | None = None) -> Fact:
    return (await memory.facts.learn(anna, Statement(text, topic=topic))).fact


async def known(memory: Memory, anna: Scope) -> list[tuple[str | None, str]]:
    return [(fact.topic, fact.text) for fact in await memory.facts.all(anna)]


async def test_a_fact_without_a_topic_is_replaced(memory: Memory, anna: Scope) -> None:
    old = await learned(memory, anna, "Has a cat")

    new = await memory.facts.learn(anna, Statement("Has a dog"), replaces=old.id)

    assert (new.outcome, [old.text for old in new.superseded]) == (Outcome.SUPERSEDED, ["Has a cat"])
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


async def test_all_facts_that_are_named_become_history(memory: Memory, anna: Scope) -> None:
    pets = ["cat", "fish", "bird", "hamster", "mouse", "snake", "horse", "goat", "hen", "duck", "pig", "cow"]
    named = [await learned(memory, anna, f"Has a {pet}", "pets" if pet < "d" else None) for pet in pets]

    new = await memory.facts.learn(anna, Statement("Has no animals"), replaces=[fact.id for fact in named])

    texts = [f"Has a {pet}" for pet in pets]
    assert (new.outcome, sorted(fact.text for fact in new.superseded)) == (Outcome.SUPERSEDED, sorted(texts))
    assert [text for _, text in await known(memory, anna)] == ["Has no animals"]
    history = await memory.facts.history_of(anna, new.fact.id)
    assert [fact.text for fact in history][-1] == "Has no animals"
    assert sorted(fact.text for fact in history[:-1]) == sorted(texts)


async def test_other_facts_of_the_topic_stay(memory: Memory, anna: Scope) -> None:
    cat = await learned(memory, anna, "Has a cat", "pets")
    await learned(memory, anna, "Has a fish", "pets")

    await memory.facts.learn(anna, Statement("Has a dog", topic="pets"), replaces=cat.id)

    assert await known(memory, anna) == [("pets", "Has a fish"), ("pets", "Has a dog")]
    assert [fact.text for fact in await memory.facts.history(anna, "pets")] == ["Has a cat", "Has a fish", "Has a dog"]


async def test_the_one_value_of_a_topic_can_be_set(memory: Memory, anna: Scope) -> None:
    for pet in ("cat", "fish"):
        await learned(memory, anna, f"Has a {pet}", "Pets")
    await learned(memory, anna, "Likes dogs", "pets/likes")

    new = await memory.facts.learn(anna, Statement("Has a dog", topic="pets"), replaces=TOPIC)

    assert sorted(fact.text for fact in new.superseded) == ["Has a cat", "Has a fish"]
    assert await known(memory, anna) == [("Pets", "Has a dog"), ("pets/likes", "Likes dogs")]


async def test_the_value_of_a_topic_needs_a_topic(memory: Memory, anna: Scope) -> None:
    with pytest.raises(InvalidRequestError, match="replaces='topic' needs the topic"):
        await memory.facts.learn(anna, Statement("Has a dog"), replaces=TOPIC)


async def test_too_many_facts_are_not_replaced_at_once(memory: Memory, anna: Scope) -> None:
    with pytest.raises(InvalidRequestError, match="at most 50 others at once, got 51 ids"):
        await memory.facts.learn(anna, Statement("Has a dog"), replaces=[str(number) for number in range(51)])


async def test_a_fact_that_is_known_already_may_replace_another(memory: Memory, anna: Scope) -> None:
    wrong = await learned(memory, anna, "Has a cat", "animals")
    await learned(memory, anna, "Has a dog", "pets")

    new = await memory.facts.learn(anna, Statement("Has a dog", topic="pets"), replaces=wrong.id)

    assert (new.outcome, new.fact.support) == (Outcome.SUPPORTED, 2)
    assert await known(memory, anna) == [("pets", "Has a dog")]


async def test_a_candidate_is_replaced_and_was_never_true(memory: Memory, anna: Scope) -> None:
    await learned(memory, anna, "Ana lives in Bern", "city")
    guess = await memory.facts.learn(anna, Statement("Ana lives in Rome", topic="city", source=Source.INFERRED))

    await memory.facts.learn(anna, Statement("Ana lives in Basel"), replaces=guess.fact.id)

    assert guess.outcome is Outcome.CANDIDATE
    assert await known(memory, anna) == [("city", "Ana lives in Basel")]
    assert [fact.text for fact in await memory.facts.history(anna, "city")] == [
        "Ana lives in Bern",
        "Ana lives in Basel",
    ]


async def test_an_inference_does_not_replace_what_the_user_said_even_by_its_id(memory: Memory, anna: Scope) -> None:
    said = await learned(memory, anna, "Has a cat")

    guess = await memory.facts.learn(anna, Statement("Has a dog", source=Source.INFERRED), replaces=said.id)

    assert (guess.outcome, guess.fact.standing) == (Outcome.CANDIDATE, Standing.CANDIDATE)
    assert (None, "Has a cat") in await known(memory, anna)


async def test_what_is_not_current_cannot_be_replaced(memory: Memory, anna: Scope) -> None:
    old = await learned(memory, anna, "Has a cat", "pets")
    await memory.facts.learn(anna, Statement("Has a dog", topic="pets"), replaces=old.id)

    for gone in ("nonsense", old.id):
        with pytest.raises(NotFoundError, match="`recall` shows the ids"):
            await memory.facts.learn(anna, Statement("Has a fish"), replaces=gone)
    assert await known(memory, anna) == [("pets", "Has a dog")]


async def test_a_fact_superseded_by_the_same_statement_may_be_named_again(memory: Memory, anna: Scope) -> None:
    old = await learned(memory, anna, "Has a cat", "pets")
    await memory.facts.learn(anna, Statement("Has a dog"), replaces=[old.id])

    again = await memory.facts.learn(anna, Statement("Has a dog"), replaces=[old.id])

    assert (again.outcome, again.fact.support) == (Outcome.SUPPORTED, 2)


async def test_a_fact_of_someone_else_cannot_be_replaced(memory: Memory, anna: Scope) -> None:
    old = await learned(memory, anna, "Has a cat", "pets")

    with pytest.raises(NotFoundError):
        await memory.facts.learn(Scope("ben"), Statement("Has a dog"), replaces=old.id)
