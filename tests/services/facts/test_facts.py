"""Facts in a real file: learned, supported, superseded, ended and expired."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from mcp_memory_server.domain.facts.fact import Fact, Outcome, Permanence, Source, Standing, Statement
from mcp_memory_server.domain.kernel.items import Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import InvalidRequestError, NotFoundError
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema import keys
from mcp_memory_server.services.facts.facts import TOPIC
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

CITY = "personal/location/city"
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


def texts(facts: Sequence[Fact]) -> list[str]:
    return [fact.text for fact in facts]


async def test_what_is_learned_is_known_with_where_it_came_from(memory: Memory, anna: Scope) -> None:
    learned = await memory.facts.learn(anna, Statement("Ana lives in Bern", topic=CITY, session_id="s1", turn_id="t9"))

    known = await memory.facts.get(anna, learned.fact.id)

    assert learned.outcome is Outcome.LEARNED
    assert known == learned.fact
    assert (known.session_id, known.turn_id) == ("s1", "t9")


async def test_a_new_value_supersedes_and_the_old_one_is_history(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    began = clock()
    await memory.facts.learn(anna, Statement("Ana lives in Bern", topic=CITY))
    clock.advance(DAY)
    learned = await memory.facts.learn(anna, Statement("Ana lives in Basel", topic=CITY))

    history = await memory.facts.history(anna, CITY)

    assert (learned.outcome, texts(learned.superseded)) == (Outcome.SUPERSEDED, ["Ana lives in Bern"])
    assert [(fact.text, fact.valid_from, fact.valid_to) for fact in history] == [
        ("Ana lives in Bern", began, clock()),
        ("Ana lives in Basel", clock(), None),
    ]
    assert texts(await memory.facts.all(anna)) == ["Ana lives in Basel"]


async def test_what_was_true_can_be_asked_for_any_moment(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    began = clock()
    for city in ("Bern", "Basel", "Chur"):
        await memory.facts.learn(anna, Statement(f"Ana lives in {city}", topic=CITY))
        clock.advance(DAY)

    at = [
        texts(await memory.facts.as_of(anna, began + hours * timedelta(hours=1))) for hours in (-1, 0, 23, 24, 47, 90)
    ]

    assert at == [
        ["Ana lives in Bern"],
        ["Ana lives in Bern"],
        ["Ana lives in Bern"],
        ["Ana lives in Basel"],
        ["Ana lives in Basel"],
        ["Ana lives in Chur"],
    ]


async def test_the_history_of_one_topic_is_not_that_of_its_neighbours(memory: Memory, anna: Scope) -> None:
    for topic in ("a", "ab", "a/b", "a#b"):
        await memory.facts.learn(anna, Statement(f"first of {topic}", topic=topic))
        await memory.facts.learn(anna, Statement(f"second of {topic}", topic=topic), replaces=TOPIC)

    assert texts(await memory.facts.history(anna, "a")) == ["first of a", "second of a"]


async def test_history_stays_in_order_when_the_clock_steps_back(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    await memory.facts.learn(anna, Statement("Ana lives in Bern", topic=CITY))
    clock.advance(-DAY)
    await memory.facts.learn(anna, Statement("Ana lives in Basel", topic=CITY))
    await memory.facts.learn(anna, Statement("Ana lives in Chur", topic=CITY))

    assert texts(await memory.facts.history(anna, CITY)) == [
        "Ana lives in Bern",
        "Ana lives in Basel",
        "Ana lives in Chur",
    ]


async def test_saying_a_fact_twice_gives_it_more_support(memory: Memory, anna: Scope) -> None:
    first = await memory.facts.learn(anna, Statement("Ana lives in Bern", topic=CITY))
    again = await memory.facts.learn(anna, Statement("ana lives in  BERN!", topic=CITY))

    known = await memory.facts.all(anna)

    assert (again.outcome, again.fact.id) == (Outcome.SUPPORTED, first.fact.id)
    assert [(fact.text, fact.support) for fact in known] == [("Ana lives in Bern", 2)]
    assert len(await memory.facts.history(anna, CITY)) == 1


async def test_a_fact_stated_with_and_without_a_topic_is_listed_once(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Ana lives in Bern"))
    await memory.facts.learn(anna, Statement("Ana lives in Bern", topic=CITY))

    assert [(fact.topic, fact.support) for fact in await memory.facts.all(anna)] == [(CITY, 2)]


async def test_a_new_value_of_a_topic_supersedes_the_same_fact_without_a_topic(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Ana lives in Bern"))
    await memory.facts.learn(anna, Statement("Ana lives in Bern", topic=CITY))

    await memory.facts.learn(anna, Statement("Ana lives in Basel", topic=CITY))

    assert texts(await memory.facts.all(anna)) == ["Ana lives in Basel"]


async def test_the_same_sentence_under_two_topics_is_one_fact_under_the_first(memory: Memory, anna: Scope) -> None:
    for topic in ("Health", "food", "HEALTH/allergies"):
        await memory.facts.learn(anna, Statement("Is allergic to nuts", topic=topic))

    assert [(fact.topic, fact.support) for fact in await memory.facts.all(anna)] == [("HEALTH/allergies", 3)]


async def test_a_topic_holds_many_facts(memory: Memory, anna: Scope) -> None:
    for allergen in ("nuts", "milk", "penicillin"):
        await memory.facts.learn(anna, Statement(f"Is allergic to {allergen}", topic="health/allergies"))

    assert sorted(texts(await memory.facts.all(anna, "Health"))) == [
        "Is allergic to milk",
        "Is allergic to nuts",
        "Is allergic to penicillin",
    ]


async def test_a_topic_is_stored_as_it_was_first_written(memory: Memory, anna: Scope) -> None:
    for text, topic in (("Has a cat", "Home/Pets"), ("Has a dog", "home/pets")):
        await memory.facts.learn(anna, Statement(text, topic=topic))

    assert [fact.topic for fact in await memory.facts.all(anna, "HOME/")] == ["Home/Pets", "Home/Pets"]


async def test_a_weak_inference_is_kept_beside_what_the_user_said(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Ana lives in Bern", topic=CITY))
    guess = await memory.facts.learn(anna, Statement("Ana lives in Basel", topic=CITY, source=Source.INFERRED))

    known = await memory.facts.all(anna)

    assert guess.stands is not None
    assert (guess.outcome, guess.stands.text) == (Outcome.CANDIDATE, "Ana lives in Bern")
    assert {fact.text: fact.standing for fact in known} == {
        "Ana lives in Bern": Standing.CURRENT,
        "Ana lives in Basel": Standing.CANDIDATE,
    }


async def test_a_candidate_that_the_user_states_holds_and_is_no_longer_a_candidate(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Ana lives in Bern", topic=CITY))
    await memory.facts.learn(anna, Statement("Ana lives in Basel", topic=CITY, source=Source.INFERRED))

    learned = await memory.facts.learn(anna, Statement("Ana lives in Basel", topic=CITY))

    known = await memory.facts.all(anna)
    assert (learned.outcome, learned.fact.support) == (Outcome.SUPERSEDED, 2)
    assert [(fact.text, fact.standing) for fact in known] == [("Ana lives in Basel", Standing.CURRENT)]


async def test_a_transient_fact_is_gone_at_the_very_second(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    statement = Statement("Travels to Rome", topic="travel", expires_at=clock() + 10 * DAY)
    learned = await memory.facts.learn(anna, statement)

    clock.advance(10 * DAY - SECOND)
    assert texts(await memory.facts.all(anna)) == ["Travels to Rome"]
    clock.advance(SECOND)

    assert await memory.facts.all(anna) == []
    assert await memory.facts.history(anna, "travel") == []
    with pytest.raises(NotFoundError):
        await memory.facts.get(anna, learned.fact.id)


async def test_something_transient_becomes_history_by_itself_and_never_vanishes(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    learned = await memory.facts.learn(anna, Statement("In Rome", topic="travel", permanence=Permanence.TRANSIENT))
    clock.advance(14 * DAY)

    assert await memory.facts.all(anna) == []
    assert texts(await memory.facts.all(anna, past=True)) == ["In Rome"]
    assert texts(await memory.facts.history(anna, "travel")) == ["In Rome"]
    assert (await memory.facts.get(anna, learned.fact.id)).is_over(clock())


async def test_a_transient_fact_that_is_restated_as_durable_is_durable(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    await memory.facts.learn(anna, Statement("In Rome", topic="travel", permanence=Permanence.TRANSIENT))
    await memory.facts.learn(anna, Statement("In Rome", permanence=Permanence.DURABLE))

    clock.advance(14 * DAY)

    assert texts(await memory.facts.all(anna)) == ["In Rome"]


async def test_a_fact_stated_again_after_its_end_is_current_and_its_first_period_is_history(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    await memory.facts.learn(anna, Statement("In Rome", permanence=Permanence.TRANSIENT))
    clock.advance(90 * DAY)

    again = await memory.facts.learn(anna, Statement("In Rome", permanence=Permanence.TRANSIENT))

    assert (again.outcome, again.superseded, again.fact.support) == (Outcome.LEARNED, (), 1)
    past, current = await memory.facts.history_of(anna, again.fact.id)
    assert (past.standing, past.valid_to, current.standing) == (Standing.PAST, clock() - 76 * DAY, Standing.CURRENT)


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("a", ["of a", "of a/b", "of a/b/c"]),
        ("A/", ["of a", "of a/b", "of a/b/c"]),
        ("a/b", ["of a/b", "of a/b/c"]),
        ("ab", ["of ab"]),
        ("b", []),
    ],
)
async def test_facts_are_listed_below_a_topic(memory: Memory, anna: Scope, prefix: str, found: list[str]) -> None:
    for topic in ("a", "a/b", "a/b/c", "ab", "a#b"):
        await memory.facts.learn(anna, Statement(f"of {topic}", topic=topic))

    assert texts(await memory.facts.all(anna, prefix)) == found


async def test_an_invalid_prefix_is_refused(memory: Memory, anna: Scope) -> None:
    with pytest.raises(InvalidRequestError, match="personal/location/city"):
        await memory.facts.all(anna, "a//b")


@pytest.mark.parametrize("statement", [Statement("hello"), Statement("hello", topic="greeting")])
async def test_attributes_of_a_later_release_survive_a_repetition(
    memory: Memory, anna: Scope, statement: Statement
) -> None:
    learned = await memory.facts.learn(anna, statement)
    key = keys.fact_key(anna, learned.fact.fingerprint)
    await memory.table.put(Put(key, {"text": "hello", "topic": statement.topic, "mood": {"happy": True}}))

    await memory.facts.learn(anna, statement)

    item = await memory.table.get(key)
    assert item is not None
    assert (item.body["mood"], item.body["support"], item.body["source"]) == ({"happy": True}, 2, "user_stated")


async def test_attributes_of_a_later_release_survive_the_promotion_of_a_candidate(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Ana lives in Bern", topic=CITY))
    guess = Statement("Ana lives in Basel", topic=CITY, source=Source.INFERRED)
    candidate = (await memory.facts.learn(anna, guess)).fact
    key = keys.possible_fact_key(anna, candidate.fingerprint)
    await memory.table.put(Put(key, {"text": "Ana lives in Basel", "topic": CITY, "mood": "happy"}))

    await memory.facts.learn(anna, guess)
    await memory.facts.learn(anna, Statement("Ana lives in Basel", topic=CITY))

    item = await memory.table.get(keys.fact_key(anna, candidate.fingerprint))
    assert item is not None
    assert (item.body["text"], item.body["mood"], item.body["support"]) == ("Ana lives in Basel", "happy", 3)
