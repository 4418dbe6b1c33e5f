"""Learning from what was said: after each turn, or when a session is ended."""

import asyncio
from typing import Any

import pytest

from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin, for_user
from mcp_memory_server import InvalidRequestError, Memory, Scope
from tests.plugins.strands.conftest import Ask, agent_with, model_of

ANA = Scope("ana", "s1")


def texts(ask: Ask[Any], user: str = "ana") -> list[str]:
    return sorted(fact.text for fact in ask(lambda memory: memory.facts.all(Scope(user))))


def finished(plugin: MemoryPlugin) -> None:
    """Wait until nothing runs in the background."""
    for one in plugin._memory.in_progress():
        one.result(30)


def test_a_turn_that_states_a_fact_is_learned_after_the_turn_by_rules(shared: SharedMemory, ask: Ask[Any]) -> None:
    plugin = MemoryPlugin("ana", "s1", memory=shared, learn_by="rules")
    agent = agent_with(plugin, "Noted.")

    agent("I live in Porto.")
    finished(plugin)
    first = texts(ask)
    agent("I moved to Lisbon. Where is my order?")
    finished(plugin)

    assert first == ["The user lives in Porto."]
    (current,) = ask(lambda memory: memory.recall.search(ANA, "Where does the user live?", max_tokens=200)).memories[:1]
    assert current.text == "The user lives in Lisbon."


def test_what_an_agent_says_and_asks_another_agent_is_not_learned(shared: SharedMemory, ask: Ask[Any]) -> None:
    plugin = MemoryPlugin("ana", "s1", memory=shared, learn_by="rules")
    agent = agent_with(plugin, "I live in Berlin. My name is Otto.")

    agent("Who are you?")
    finished(plugin)

    assert texts(ask) == []


def test_by_default_nothing_is_learned_before_the_end_of_the_session(plugin: MemoryPlugin, ask: Ask[Any]) -> None:
    agent_with(plugin, "Noted.")("I live in Porto.")
    before = texts(ask)

    ended = plugin.end_session()

    assert (before, texts(ask)) == ([], ["The user lives in Porto."])
    assert ended.turn_count == 2


def test_the_end_of_a_session_learns_nothing_twice(shared: SharedMemory, ask: Ask[Any]) -> None:
    plugin = MemoryPlugin("ana", "s1", memory=shared, learn_by="rules")
    agent_with(plugin, "Noted.")("I live in Porto.")
    finished(plugin)

    plugin.end_session()

    (fact,) = ask(lambda memory: memory.facts.all(Scope("ana")))
    assert (fact.text, fact.support) == ("The user lives in Porto.", 1)


def test_the_next_conversation_begins_with_the_summary_that_was_given(shared: SharedMemory) -> None:
    plugin = MemoryPlugin("ana", memory=shared)
    agent = agent_with(plugin, "Noted.")
    agent("I am looking for a flat in Porto.")

    async def end() -> None:
        await plugin.end_session_async(summary="Ana looks for a flat in Porto.", open_questions=["Is Boavista quiet?"])

    asyncio.run(end())
    agent("Hello again.")

    seen = model_of(agent).seen[-1]
    assert len(seen.messages) == 1  # a session of its own
    assert "Ana looks for a flat in Porto." in seen.text
    assert "Is Boavista quiet?" in seen.text


def test_each_user_ends_a_session_of_their_own(shared: SharedMemory, ask: Ask[Any]) -> None:
    plugin = MemoryPlugin(memory=shared)
    agent = agent_with(plugin, "Noted.")
    agent("I live in Porto.", invocation_state=for_user("ana", "s1"))
    agent("I live in Berlin.", invocation_state=for_user("ben", "s1"))

    plugin.end_session(for_user("ana", "s1"))

    assert (texts(ask, "ana"), texts(ask, "ben")) == (["The user lives in Porto."], [])


def test_a_turn_in_a_session_that_was_ended_continues_it(plugin: MemoryPlugin, ask: Ask[Any]) -> None:
    agent = agent_with(plugin, "Noted.")
    agent("I live in Porto.")
    plugin.end_session()

    agent("And I work at Acme.")

    async def count(memory: Memory) -> int:
        return (await memory.conversations.load(ANA)).turn_count

    assert ask(count) == 4
    assert "I live in Porto." in str(model_of(agent).seen[-1].messages)


def test_a_wrong_way_to_learn_is_refused_with_the_right_ones(shared: SharedMemory) -> None:
    with pytest.raises(InvalidRequestError, match="'rules', 'summarizer' or None"):
        MemoryPlugin("ana", memory=shared, learn_by="magic")


def test_the_session_of_nobody_cannot_be_ended(shared: SharedMemory) -> None:
    with pytest.raises(InvalidRequestError, match="nobody said whose memory"):
        MemoryPlugin(memory=shared).end_session()
