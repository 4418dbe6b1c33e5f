"""The hand-off: a new conversation begins with what is left of the ones before, within the budget."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server import ContextPage, Memory, Scope, Statement
from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from mcp_memory_server.domain.recall.replies.answers import reply_text
from mcp_memory_server.domain.summaries.summary import Level, Summary
from mcp_memory_server.schema.summary_records import summary_put
from mcp_memory_server.schema.user_versions import bump_version
from tests.clock import FakeClock
from tests.services.summaries.finalizer_stage import finalizing_memory, talk

pytestmark = pytest.mark.anyio

ANNA = Scope("anna")
DAY = timedelta(days=1)


@pytest.fixture
async def memory(path: Path, clock: FakeClock) -> AsyncIterator[Memory]:
    async with finalizing_memory(path, clock) as one:
        yield one


async def hold(memory: Memory, name: str, *said: str) -> None:
    session = Scope("anna", name)
    await talk(memory, session, *said)
    await memory.conversations.end(session)
    await memory.finalizer.finish_due()


async def page(memory: Memory, session: str = "new", max_tokens: int = 600) -> str:
    return (await memory.context.load(Scope("anna", session), max_tokens=max_tokens)).text


async def test_a_new_session_starts_with_the_last_one(memory: Memory, clock: FakeClock) -> None:
    await memory.facts.learn(ANNA, Statement("Anna has a dog called Rex."))
    await hold(memory, "one", "Please book a table for two in Lisbon.", "It is booked for eight.")
    clock.advance(3 * DAY)

    text = await page(memory)

    assert "## Last conversation (2026-03-01, 3 days ago, 2 turns)" in text
    assert text.index("booked for eight") < text.index("Anna has a dog called Rex.")


async def test_the_last_conversation_leaves_room_for_what_is_urgent(memory: Memory) -> None:
    await memory.facts.learn(ANNA, Statement("Anna's son Tom has a hazelnut allergy and carries an EpiPen."))
    for number in range(12):
        await memory.preferences.set(ANNA, f"key {number}", "a value that has quite some words in it")
    await hold(memory, "one", *["Please book a table for two in Lisbon, near the river, with a view."] * 6)

    text = await page(memory, max_tokens=360)

    assert "hazelnut" in text
    assert text.count("a value that has quite some words in it") == 12


async def test_the_running_session_is_not_told_of_itself(memory: Memory) -> None:
    await hold(memory, "one", "Please book a table for two in Lisbon.", "It is booked for eight.")

    assert "Last conversation" not in await page(memory, "one")
    assert "Last conversation" in await page(memory, "two")


async def test_a_question_stays_open_until_it_is_answered(memory: Memory, clock: FakeClock) -> None:
    await hold(memory, "one", "Does the hotel allow my dog Rex in the dining room?", "I will check with them.")
    clock.advance(DAY)
    await hold(memory, "two", "Please book a taxi.", "It is booked.")
    still_open = await page(memory)
    clock.advance(DAY)
    await hold(
        memory, "three", "Any news?", "Yes: the hotel does allow your dog Rex in the dining room, on a leash.", "Great."
    )

    assert "## Still open\n- Does the hotel allow my dog" in still_open
    assert "## Still open" not in await page(memory)


async def test_what_was_superseded_is_not_told_by_old_summaries(memory: Memory, clock: FakeClock) -> None:
    await hold(memory, "one", "I work at Acme and I prefer long lunches.", "Noted.")
    clock.advance(DAY)
    await hold(memory, "two", "I left Acme. I work at Globex now.", "Congratulations.")

    text = await page(memory)

    assert "Acme" not in text
    assert "acme" not in text
    assert "Globex" in text


async def test_another_users_conversations_are_never_told(memory: Memory) -> None:
    await hold(memory, "one", "Please book a table for two in Lisbon.", "It is booked for eight.")

    text = (await memory.context.load(Scope("bo", "one"))).text

    assert "Lisbon" not in text


async def test_a_thousand_sessions_are_told_in_less_than_800_tokens(memory: Memory, clock: FakeClock) -> None:
    for number in range(1000):
        until = clock() - timedelta(hours=2 * number)
        text = f"The user: Tell me about the delivery of order {number} to warehouse {number % 13}, please."
        summary = Summary(
            Level.SESSION,
            f"chat {number}",
            until - timedelta(minutes=9),
            until,
            discussed=(text, "The assistant: It is on its way."),
            unresolved=(f"Where is order {number}?",),
            topics={"delivery": 1, f"order {number}": 1},
            turn_count=8,
        )
        await memory.table.write([summary_put(ANNA, summary, expected_version=0), bump_version(ANNA)])
    pages: list[ContextPage] = []
    for _ in range(2):  # before folding, and after it
        pages += [await memory.context.load(Scope("anna", "new"), max_tokens=budget) for budget in (600, 800, 4000)]
        await memory.finalizer.fold_due()

    assert max(count_tokens(reply_text(page.to_reply())) for page in pages) < 800
    assert all("## Last conversation" in page.text and "## Earlier conversations" in page.text for page in pages)


@pytest.mark.parametrize("budget", [50, 60, 80, 120, 200, 300])
async def test_no_budget_is_exceeded(memory: Memory, clock: FakeClock, budget: int) -> None:
    for number in range(5):
        await memory.facts.learn(ANNA, Statement(f"Anna's box number {number} is in the attic."))
        await hold(memory, f"chat {number}", "Please book a table for two in Lisbon.", f"Booked under {number}.")
        clock.advance(DAY)

    told = await memory.context.load(Scope("anna", "new"), max_tokens=budget)

    assert count_tokens(reply_text(told.to_reply())) <= budget
