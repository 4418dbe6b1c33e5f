"""Forgetting a fact takes it out of the turns, summaries and logged calls that say the same."""

from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.memory import Memory

pytestmark = pytest.mark.anyio

FACT = "The user was diagnosed with HIV in March."
CHAT = Scope("anna", "doctor")


async def conversation(memory: Memory, scope: Scope = CHAT) -> None:
    for role, text in (
        (Role.USER, "Hi! I was diagnosed with HIV in March. Which bus goes to the old harbour?"),
        (Role.ASSISTANT, "I am sorry to hear about the HIV diagnosis. Bus 14 goes to the harbour."),
        (Role.USER, "Thanks, bus 14 it is."),
    ):
        await memory.conversations.append(scope, NewTurn(role, text))


async def contents(memory: Memory, scope: Scope = CHAT) -> list[str]:
    loaded = await memory.conversations.load(scope)
    return [turn.content for turn in loaded.turns]


async def test_the_turns_that_say_the_same_lose_the_sentence_and_nothing_else(memory: Memory, anna: Scope) -> None:
    await conversation(memory)
    fact = (await memory.facts.learn(anna, Statement(FACT))).fact

    forgotten = await memory.erasure.forget(anna, fact.id)

    assert forgotten.status is Status.COMPLETE
    assert [place.kind for place in forgotten.places] == ["turn", "turn"]
    assert await contents(memory) == [
        "Hi! [forgotten] Which bus goes to the old harbour?",
        "[forgotten] Bus 14 goes to the harbour.",
        "Thanks, bus 14 it is.",
    ]


async def test_no_way_of_reading_returns_it_any_more(memory: Memory, other_process: Memory, anna: Scope) -> None:
    await conversation(memory)
    await memory.conversations.end(CHAT)
    await other_process.recall.search(anna, "HIV")
    fact = (await memory.facts.learn(anna, Statement(FACT))).fact

    await memory.erasure.forget(anna, fact.id)

    for reader in (memory, other_process):
        recalled = await reader.recall.search(anna, "What was the HIV diagnosis in March?")
        page = await reader.context.load(anna, max_tokens=2000)
        assert "HIV" not in f"{recalled.memories} {page.text} {await contents(reader)}"
    assert "HIV" not in "".join([line async for line in memory.archive.export(anna)])


async def test_a_dry_run_shows_what_would_go_and_changes_nothing(memory: Memory, anna: Scope) -> None:
    await conversation(memory)
    fact = (await memory.facts.learn(anna, Statement(FACT))).fact

    shown = await memory.erasure.forget(anna, fact.id, dry_run=True)

    assert {(place.session_id, place.text) for place in shown.places} == {
        ("doctor", "I was diagnosed with HIV in March."),
        ("doctor", "I am sorry to hear about the HIV diagnosis."),
    }
    assert shown.removed == 1
    assert "HIV" in " ".join(await contents(memory))
    assert len(await memory.facts.all(anna)) == 1


async def test_only_the_fact_goes_if_no_more_is_asked_for(memory: Memory, anna: Scope) -> None:
    await conversation(memory)
    fact = (await memory.facts.learn(anna, Statement(FACT))).fact

    forgotten = await memory.erasure.forget(anna, fact.id, everywhere=False)

    assert forgotten.places == ()
    assert "HIV" in " ".join(await contents(memory))


async def test_the_turn_that_it_was_learned_from_is_redacted_in_whatever_words(memory: Memory, anna: Scope) -> None:
    source = await memory.conversations.append(CHAT, NewTurn(Role.USER, "We are expecting in May! Fix the stylesheet."))
    statement = Statement("Ana Silva is pregnant.", session_id="doctor", turn_id=source.turn.id)
    fact = (await memory.facts.learn(anna, statement)).fact

    await memory.erasure.forget(anna, fact.id)

    assert await contents(memory) == ["[forgotten] Fix the stylesheet."]


async def test_a_very_long_turn_is_redacted_too(memory: Memory, anna: Scope) -> None:
    filler = " ".join(f"Line {number} is about the garden of number {number * 7919}." for number in range(400))
    await memory.conversations.append(CHAT, NewTurn(Role.USER, f"{filler} I was diagnosed with HIV in March. {filler}"))
    fact = (await memory.facts.learn(anna, Statement(FACT))).fact

    await memory.erasure.forget(anna, fact.id)

    (content,) = await contents(memory)
    assert "HIV" not in content
    assert content.count("Line 399") == 2


async def test_logged_calls_lose_it(memory: Memory, anna: Scope) -> None:
    output = f'{{"found": ["{FACT}", "a bus"]}}'
    memory.tool_log.record(CHAT, "search", {"query": FACT, "limit": 3}, output, duration=timedelta(seconds=1))
    await memory.tool_log.drain()
    fact = (await memory.facts.learn(anna, Statement(FACT))).fact

    await memory.erasure.forget(anna, fact.id)

    (call,) = (await memory.tool_log.by_session(CHAT, "doctor")).calls
    assert call.inputs == {"query": "[forgotten]", "limit": 3}
    assert call.output == '{"found": ["[forgotten]", "a bus"]}'


async def test_facts_that_say_the_same_are_named_and_stay(memory: Memory, anna: Scope) -> None:
    fact = (await memory.facts.learn(anna, Statement(FACT))).fact
    other = (await memory.facts.learn(anna, Statement("Ana was told about the HIV diagnosis in March."))).fact
    await memory.facts.learn(anna, Statement("The user likes green tea."))

    forgotten = await memory.erasure.forget(anna, fact.id)

    assert [memory.id for memory in forgotten.also_known] == [other.id]
    assert len(await memory.facts.all(anna)) == 2


async def test_redaction_does_not_change_the_counts_of_a_session(memory: Memory, anna: Scope) -> None:
    await conversation(memory)
    before = await memory.conversations.load(CHAT)
    fact = (await memory.facts.learn(anna, Statement(FACT))).fact

    await memory.erasure.forget(anna, fact.id)

    after = await memory.conversations.load(CHAT)
    assert (after.turn_count, after.token_count) == (before.turn_count, before.token_count)


async def test_no_redacted_sentence_is_in_the_files(memory: Memory, anna: Scope, path: Path) -> None:
    await conversation(memory)
    await memory.conversations.end(CHAT)
    fact = (await memory.facts.learn(anna, Statement(FACT))).fact

    await memory.erasure.forget(anna, fact.id)

    assert [file.name for file in path.parent.iterdir() if b"HIV" in file.read_bytes()] == []
