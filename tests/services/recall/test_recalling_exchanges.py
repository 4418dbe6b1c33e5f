"""The context of a matching turn is returned with it, unless it is forgotten, expired or excluded by the question."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.recall.replies.answers import Recalled
from mcp_memory_server.domain.sessions.turns import LIFE, NewTurn, Role
from mcp_memory_server.memory import Memory
from tests.bench.recall.stores import exchange_stores
from tests.bench.recall.through_tool import fair_budgets, measure
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

TALK = Scope("anna", "talk 1")
ASKED = "Which colour did you choose for the kitchen walls?"
QUESTION = "kitchen walls colour chosen"


async def says(memory: Memory, *texts: str, scope: Scope = TALK) -> None:
    for place, text in enumerate(texts):
        role = Role.USER if place % 2 else Role.ASSISTANT
        await memory.conversations.append(scope, NewTurn(role, text))


async def knows_much_about_kitchens(memory: Memory, anna: Scope) -> None:
    for number in range(12):
        await memory.facts.learn(anna, Statement(f"The kitchen of flat {number} has colour {number} on its walls."))


def texts(found: Recalled) -> list[str]:
    return [memory.text for memory in found.memories]


async def test_a_question_that_is_found_is_followed_by_its_reply(memory: Memory, anna: Scope) -> None:
    await says(memory, "Hi!", "Hello!", ASKED, "A pale sage.", "Sure, sounds good.")

    found = texts(await memory.recall.search(anna, ASKED))

    assert found[:2] == [ASKED, "A pale sage."]
    assert not {"Hi!", "Hello!", "Sure, sounds good."} & set(found)


async def test_a_context_turn_has_no_label(memory: Memory, anna: Scope) -> None:
    items = ["For the trip pack the tent.", "Noted, what else?", "Two pots.", "Go on please.", "And the blue tarp."]
    await says(memory, *items)
    await knows_much_about_kitchens(memory, anna)

    found = await memory.recall.search(anna, "What do I pack for the trip, the tent?", max_tokens=2000)

    labels = {told.text: told.match for told in found.memories}
    assert labels.keys() >= set(items)
    brought = [told for told in found.memories if told.match is None]
    assert {told.text for told in brought} & set(items)
    assert not [told for told in brought if "match" in told.to_reply()]


async def test_a_forgotten_reply_is_not_returned_as_context(memory: Memory, anna: Scope) -> None:
    await says(memory, ASKED, "A pale sage.")
    (reply,) = [told for told in (await memory.recall.search(anna, ASKED)).memories if told.text == "A pale sage."]

    await memory.erasure.forget(anna, reply.id)

    assert texts(await memory.recall.search(anna, ASKED)) == [ASKED]


async def test_a_reply_with_a_forgotten_sentence_is_not_returned_as_context(memory: Memory, anna: Scope) -> None:
    learned = await memory.facts.learn(anna, Statement("A pale sage."))
    await memory.erasure.forget(anna, learned.fact.id)
    await says(memory, ASKED, "I have it. A pale sage.")

    assert texts(await memory.recall.search(anna, ASKED)) == [ASKED]


async def test_an_expired_reply_is_not_returned_as_context(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    early = NewTurn(Role.USER, "A pale sage.", said_at=clock() + timedelta(seconds=1))
    await memory.conversations.append(TALK, NewTurn(Role.ASSISTANT, ASKED))
    await memory.conversations.append(TALK, early)
    assert "A pale sage." in texts(await memory.recall.search(anna, ASKED))

    clock.advance(LIFE + timedelta(days=1))

    assert texts(await memory.recall.search(anna, ASKED)) == []


async def test_a_later_reply_is_not_returned_for_an_earlier_time(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    await says(memory, ASKED)
    asked_at = clock()
    clock.advance(timedelta(days=2))
    await memory.conversations.append(TALK, NewTurn(Role.USER, "A pale sage."))

    found = await memory.recall.search(anna, ASKED, as_of=asked_at + timedelta(days=1))

    assert texts(found) == [ASKED]


async def test_a_search_of_a_topic_returns_no_conversation(memory: Memory, anna: Scope) -> None:
    await says(memory, ASKED, "A pale sage.")
    await memory.facts.learn(anna, Statement("The kitchen walls are dry.", topic="home/kitchen"))

    assert texts(await memory.recall.search(anna, QUESTION, topic="home")) == ["The kitchen walls are dry."]


async def test_pages_return_every_match_and_its_context(memory: Memory, anna: Scope) -> None:
    await says(memory, ASKED, "A pale sage.", "It dries fast.", "And it is cheap.", "The shop is in Lee Street.")
    await knows_much_about_kitchens(memory, anna)
    whole = texts(await memory.recall.search(anna, ASKED, max_tokens=5000))

    paged: list[str] = []
    page = await memory.recall.search(anna, ASKED, max_tokens=200)
    while True:
        paged += texts(page)
        if page.cursor is None:
            break
        page = await memory.recall.search(anna, ASKED, max_tokens=200, cursor=page.cursor)

    assert sorted(paged) == sorted(whole)


async def test_replies_lists_and_gaps_are_covered_in_four_languages() -> None:
    covered = fair_budgets(await measure(exchange_stores()))["exchanges"]

    assert covered[500] >= 85
    assert covered[1_000] >= 95
