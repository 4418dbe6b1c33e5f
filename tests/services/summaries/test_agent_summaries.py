"""What an agent writes when it ends a session is what the next conversation begins with, at once."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server import Memory, Scope, Statement
from mcp_memory_server.domain.kernel.spending import Price, parse_ceiling
from mcp_memory_server.domain.summaries.summary import Level
from mcp_memory_server.errors import InvalidRequestError, TooLargeError
from mcp_memory_server.wiring.summaries import ChosenModel, FinalizerOptions
from tests.clock import FakeClock
from tests.engines.summarizers import MODELS, PATIENCE
from tests.services.summaries.finalizer_stage import LONG_ENOUGH, finalizing_memory, summaries_stored, talk

pytestmark = pytest.mark.anyio

ANNA = Scope("anna")
CHAT = Scope("anna", "chat 1")
SUMMARY = "Anna compared three trains to Madrid. She took the 9:14 and paid 48 euros."
QUESTION = "Does the hotel take dogs?"


@pytest.fixture
async def memory(path: Path, clock: FakeClock) -> AsyncIterator[Memory]:
    async with finalizing_memory(path, clock) as one:
        yield one


@pytest.fixture
async def other_process(path: Path, clock: FakeClock) -> AsyncIterator[Memory]:
    async with finalizing_memory(path, clock) as one:
        yield one


async def page(memory: Memory, session: str | None = None) -> str:
    return (await memory.context.load(Scope("anna", session))).text


async def test_summary_and_open_questions_are_in_the_next_context_at_once(
    memory: Memory, other_process: Memory
) -> None:
    await talk(memory, CHAT, "Which trains go to Madrid?", "There are three.")
    before = [await page(memory), await page(other_process)]

    await memory.conversations.end(CHAT, summary=SUMMARY, open_questions=[QUESTION])

    for text in (await page(memory), await page(other_process), await page(memory, "chat 2")):
        assert "## Last conversation (2026-03-01, today, 2 turns)\n- Anna compared three trains to Madrid." in text
        assert "- She took the 9:14 and paid 48 euros." in text
        assert f"## Still open\n- {QUESTION}" in text
    assert not any("Madrid" in text for text in before)


async def test_a_session_without_turns_can_be_summed_up_by_its_agent(memory: Memory) -> None:
    await memory.conversations.end(CHAT, summary=SUMMARY)
    await memory.finalizer.finish_due()

    assert "## Last conversation (2026-03-01, today)\n- Anna compared" in await page(memory)


async def test_open_questions_alone_go_with_a_summary_of_the_turns(memory: Memory) -> None:
    await talk(memory, CHAT, "Please book a table for two in Lisbon.", "It is booked for eight.")

    await memory.conversations.end(CHAT, open_questions=[QUESTION])

    text = await page(memory)
    assert "booked for eight" in text
    assert f"- {QUESTION}" in text


async def test_what_the_agent_wrote_stays_and_facts_are_still_learned(memory: Memory) -> None:
    await talk(memory, CHAT, "I work at Acme now. Which trains go to Madrid?", "There are three.")
    await memory.conversations.end(CHAT, summary=SUMMARY)

    await memory.finalizer.finish_due()

    (summary,) = await memory.summaries.all(ANNA)
    assert (summary.level, summary.made_by, " ".join(summary.discussed)) == (Level.SESSION, "agent", SUMMARY)
    assert [fact.text for fact in await memory.facts.all(ANNA)] == ["The user works at Acme."]


async def test_a_session_that_goes_on_keeps_what_its_agent_wrote(memory: Memory, clock: FakeClock) -> None:
    await talk(memory, CHAT, "Which trains go to Madrid?", "There are three.")
    await memory.conversations.end(CHAT, summary=SUMMARY, open_questions=[QUESTION])
    await memory.finalizer.finish_due()
    clock.advance(timedelta(hours=5))

    await talk(memory, CHAT, "I also need a restaurant near the river.", "The Rio has a table.")
    clock.advance(LONG_ENOUGH)
    await memory.finalizer.finish_due()

    (summary,) = await memory.summaries.all(ANNA)
    assert summary.discussed[:2] == ("Anna compared three trains to Madrid.", "She took the 9:14 and paid 48 euros.")
    assert any("near the river" in sentence for sentence in summary.discussed)
    assert QUESTION in summary.unresolved
    assert summary.turn_count == 4


async def test_the_same_end_repeated_leaves_one_summary(memory: Memory) -> None:
    await talk(memory, CHAT, "Which trains go to Madrid?", "There are three.")

    for _ in range(2):
        await memory.conversations.end(CHAT, summary=SUMMARY, operation_id="end 1")
        await memory.finalizer.finish_due()

    assert len(await summaries_stored(memory, ANNA)) == 1


async def test_secrets_and_forgotten_things_are_not_handed_over(memory: Memory) -> None:
    learned = await memory.facts.learn(ANNA, Statement("Anna lives at 5 Rose Street in Lisbon."))
    await memory.erasure.forget(ANNA, learned.fact.id)

    await memory.conversations.end(
        CHAT,
        summary=f"{SUMMARY}\nShe lives at 5 Rose Street, Lisbon.\nHer API key is sk-abcdef1234567890abcdef.",
    )

    text = await page(memory)
    assert "9:14" in text
    assert "Rose" not in text
    assert "sk-abcdef" not in text


async def test_what_cannot_be_a_summary_is_refused_and_the_session_stays_open(memory: Memory) -> None:
    await talk(memory, CHAT, "Which trains go to Madrid?", "There are three.")

    with pytest.raises(TooLargeError, match="summary"):
        await memory.conversations.end(CHAT, summary="x" * 5000)
    with pytest.raises(InvalidRequestError, match="summary"):
        await memory.conversations.end(CHAT, summary=" ")
    with pytest.raises(InvalidRequestError, match="10 at most"):
        await memory.conversations.end(CHAT, open_questions=["Why?"] * 11)

    assert (await memory.conversations.load(CHAT)).ended_at is None


async def test_without_a_model_the_next_context_has_the_hand_off_at_once(path: Path, clock: FakeClock) -> None:
    async with finalizing_memory(path, clock, runs=True) as memory:
        await talk(memory, CHAT, "Please book a table for two in Lisbon.", "It is booked for eight.")

        await memory.conversations.end(CHAT)

        assert "booked for eight" in await page(memory)
        assert (await memory.summaries.all(ANNA))[0].made_by == "built-in"


@pytest.fixture
def _a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")


@pytest.mark.usefixtures("_a_key")
@pytest.mark.parametrize("engine", MODELS)
async def test_no_model_is_paid_for_a_session_that_its_agent_summed_up(
    path: Path, clock: FakeClock, engine: str
) -> None:
    async with MODELS[engine](PATIENCE) as (summarizer, service):
        options = FinalizerOptions(ChosenModel(summarizer, Price(0.1, 0.5), parse_ceiling("none")))
        async with finalizing_memory(path, clock, options=options) as memory:
            await talk(memory, CHAT, "Which trains go to Madrid?", "There are three.")
            await memory.conversations.end(CHAT, summary=SUMMARY)
            await memory.finalizer.finish_due()
            asked_for_the_first = len(service.asked)
            await talk(memory, Scope("anna", "chat 2"), "Which trains go to Madrid?", "There are three.")
            await memory.conversations.end(Scope("anna", "chat 2"))
            await memory.finalizer.finish_due()

    assert asked_for_the_first == 0
    assert len(service.asked) > 0
