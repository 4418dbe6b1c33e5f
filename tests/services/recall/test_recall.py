"""Recall finds the memories of one user and reports what it could not read."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.facts.fact import Permanence, Source, Statement
from mcp_memory_server.domain.facts.notes import NoteKind
from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.recall.memories import Kind
from mcp_memory_server.domain.recall.replies.answers import Recalled, reply_text
from mcp_memory_server.errors import InvalidRequestError, NotFoundError, TooLargeError
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema import keys
from mcp_memory_server.wiring import count_tokens
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

CITY = "personal/location/city"
DAY = timedelta(days=1)


def texts(found: Recalled) -> list[str]:
    return [memory.text for memory in found.memories]


async def test_memories_of_every_kind_are_found(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Ana works for Violin Makers", topic="work/employer"))
    guess = Statement("Ana works for Violin School", topic="work/employer", source=Source.INFERRED)
    await memory.facts.learn(anna, guess)
    await memory.preferences.set(anna, "violin", "gut strings")
    await memory.notes.add(anna, NoteKind.FEEDBACK, "the violin answer was good")

    found = await memory.recall.search(anna, "violin")

    assert found.status is Status.COMPLETE
    assert {told.kind for told in found.memories} == {Kind.FACT, Kind.CANDIDATE, Kind.PREFERENCE, Kind.FEEDBACK}


async def test_only_what_belongs_to_the_owner_is_found(memory: Memory, anna: Scope) -> None:
    for owner in ("anna", "Anna", "anna ", "ann", "anna#", "a%6Ena", "ben"):
        await memory.facts.learn(Scope(owner), Statement(f"The owner is {owner!r}"))

    assert texts(await memory.recall.search(anna, "owner")) == ["The owner is 'anna'"]


async def test_a_write_of_another_process_is_found_at_once(memory: Memory, other_process: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Has a cat"))
    before = texts(await memory.recall.search(anna, "cat dog bird"))

    await other_process.facts.learn(anna, Statement("Has a dog"))
    await other_process.preferences.set(anna, "bird", "none")
    after = texts(await memory.recall.search(anna, "cat dog bird"))

    assert before == ["Has a cat"]
    assert set(after) == {"Has a cat", "Has a dog", "bird: none"}


async def test_a_memory_that_another_process_forgot_is_not_found(
    memory: Memory, other_process: Memory, anna: Scope
) -> None:
    fact = (await memory.facts.learn(anna, Statement("Has a cat"))).fact
    assert texts(await memory.recall.search(anna, "cat")) == ["Has a cat"]

    await other_process.erasure.forget(anna, fact.id)

    assert texts(await memory.recall.search(anna, "cat")) == []


async def test_a_past_fact_is_found_and_labelled_and_an_expired_one_is_not_found(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    await memory.facts.learn(anna, Statement("Ana lives in Basel", topic=CITY))
    await memory.facts.learn(anna, Statement("Lives in a hotel", permanence=Permanence.TRANSIENT))
    await memory.facts.learn(anna, Statement("Lives in a tent", expires_at=clock() + DAY))
    await memory.recall.search(anna, "lives")

    clock.advance(14 * DAY)

    found = (await memory.recall.search(anna, "lives")).memories
    assert {told.text: (told.past, told.until) for told in found} == {
        "Ana lives in Basel": (False, None),
        "Lives in a hotel": (True, "2026-03-15"),
    }


async def test_a_search_is_limited_to_a_topic_and_those_below(memory: Memory, anna: Scope) -> None:
    for topic in ("work", "work/employer", "workshop", "personal"):
        await memory.facts.learn(anna, Statement(f"Zurich as {topic}", topic=topic))

    assert set(texts(await memory.recall.search(anna, "Zurich", topic="work/"))) == {
        "Zurich as work",
        "Zurich as work/employer",
    }


async def test_an_unknown_topic_is_an_error_that_lists_the_known_ones(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Ana lives in Bern", topic=CITY))
    await memory.facts.learn(anna, Statement("Works at the zoo", topic="work/employer"))

    with pytest.raises(NotFoundError, match=r"under the topic 'job'; the known topics are personal/, work/\."):
        await memory.recall.search(anna, "Bern", topic="job")


async def test_an_unknown_topic_of_an_empty_memory_says_so(memory: Memory, anna: Scope) -> None:
    with pytest.raises(NotFoundError, match="no topic is known yet"):
        await memory.recall.search(anna, "Bern", topic="job")


async def test_a_fact_that_an_earlier_release_stored_under_two_topics_is_found_under_both(
    memory: Memory, anna: Scope
) -> None:
    for topic in ("likes/tea", "likes/coffee"):
        await memory.table.put(Put(keys.legacy_fact_key(anna, topic), {"text": "yes", "topic": topic}))

    found = [await memory.recall.search(anna, "yes", topic=topic) for topic in ("likes/tea", "likes/coffee")]

    assert [texts(each) for each in found] == [["yes"], ["yes"]]


async def test_facts_that_were_true_at_the_time_are_found(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    began = clock()
    await memory.facts.learn(anna, Statement("Ana lives in Bern", topic=CITY))
    clock.advance(DAY)
    await memory.facts.learn(anna, Statement("Ana lives in Basel", topic=CITY))
    await memory.facts.learn(anna, Statement("Ana lives in Chur", topic=CITY, source=Source.INFERRED))
    await memory.preferences.set(anna, "lives", "shown")

    then = await memory.recall.search(anna, "lives", as_of=began)
    now = await memory.recall.search(anna, "lives", as_of=clock(), topic="personal")
    before = await memory.recall.search(anna, "lives", as_of=began - DAY)

    assert [(told.kind, told.text) for told in then.memories] == [(Kind.PAST, "Ana lives in Bern")]
    assert texts(now) == ["Ana lives in Basel"]
    assert [(told.text, told.learned_later) for told in before.memories] == [("Ana lives in Bern", True)]


async def test_a_later_repetition_does_not_hide_that_a_fact_was_true_before(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    began = clock()
    await memory.facts.learn(anna, Statement("Ana lives in Bern"))
    clock.advance(DAY)
    await memory.facts.learn(anna, Statement("Ana lives in Bern", topic=CITY))

    assert texts(await memory.recall.search(anna, "Bern", as_of=began)) == ["Ana lives in Bern"]
    assert [fact.text for fact in await memory.facts.as_of(anna, began)] == ["Ana lives in Bern"]


@pytest.mark.parametrize("sk", ["FACT#city", "FACT?#city#1", "PREF#tone", "NOTE#feedback#1"])
async def test_a_row_that_cannot_be_read_makes_the_answer_partial(memory: Memory, anna: Scope, sk: str) -> None:
    await memory.facts.learn(anna, Statement("Has a cat"))
    await memory.table.put(Put(Key("USER#anna", sk), {"damaged": True}))
    await memory.facts.learn(anna, Statement("Has a dog"))

    found, context = await memory.recall.search(anna, "cat"), await memory.context.load(anna)

    assert (found.status, texts(found)[0]) == (Status.PARTIAL, "Has a cat")
    assert found.missing == context.missing == ("1 stored memories could not be read",)
    assert context.status is Status.PARTIAL


async def test_history_that_cannot_be_read_makes_an_answer_partial(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    await memory.facts.learn(anna, Statement("Has a cat"))
    await memory.table.put(Put(Key("USER#anna", "PAST#pets#2025"), {"damaged": True}))

    then, now = await memory.recall.search(anna, "cat", as_of=clock()), await memory.recall.search(anna, "cat")

    assert (then.status, texts(then)) == (Status.PARTIAL, ["Has a cat"])
    assert now.status is Status.PARTIAL


async def test_the_reply_keeps_its_budget_and_says_how_much_is_left_out(memory: Memory, anna: Scope) -> None:
    for number in range(40):
        await memory.facts.learn(anna, Statement(f"Cat number {number} is called Mimi", topic=f"cats/{number}"))

    found = await memory.recall.search(anna, "cat", max_tokens=200)

    assert count_tokens(reply_text(found.to_reply())) <= 200
    assert len(found.memories) + found.more == 40
    assert found.memories


async def test_a_blank_or_oversized_question_is_refused(memory: Memory, anna: Scope) -> None:
    with pytest.raises(InvalidRequestError, match="query must not be blank"):
        await memory.recall.search(anna, " ")
    with pytest.raises(TooLargeError, match="query"):
        await memory.recall.search(anna, "x" * 9000)
    with pytest.raises(InvalidRequestError, match="max_tokens"):
        await memory.recall.search(anna, "x", max_tokens=10)


async def test_a_search_of_nothing_is_complete_and_empty(memory: Memory, anna: Scope) -> None:
    assert await memory.recall.search(anna, "cat") == Recalled(Status.COMPLETE, ())
