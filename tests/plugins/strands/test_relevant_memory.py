"""What the prompt block is chosen for: the words of the user, and what the conversation does not contain yet."""

from typing import Any

import pytest
from strands import Agent
from strands.memory import MemoryManager

from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin, MemoryStore, for_user
from examples.scripted_model import ScriptedModel, call
from mcp_memory_server import Memory, NewTurn, Role, Scope, Statement, count_tokens
from tests.plugins.strands.conftest import Ask, agent_with, model_of

ANA = Scope("ana", "s1")
NEEDED = {
    "Can you book a table for tonight?": "Ana eats no meat.",
    "How do I get to the office?": "Ana works in the tower at Praça Marquês.",
    "I need a present for my sister.": "Ana's sister Inês collects stamps.",
    "Is my passport still valid?": "Ana's passport runs out in May 2031.",
}


@pytest.fixture
def _many_facts(ask: Ask[Any]) -> None:
    async def learn(memory: Memory) -> None:
        for number in range(60):
            other = f"Ana has seen film number {number} and gave it {number % 5} stars."
            await memory.facts.learn(ANA, Statement(other))
        for fact in NEEDED.values():
            await memory.facts.learn(ANA, Statement(fact))
        await memory.preferences.set(ANA, "tone", "brief")

    ask(learn)


@pytest.mark.usefixtures("_many_facts")
def test_the_block_has_what_the_words_of_the_user_are_about_and_the_preferences_in_300_tokens(
    plugin: MemoryPlugin,
) -> None:
    agent = agent_with(plugin, "I see.")

    for words in NEEDED:
        agent(words)

    for seen, (words, fact) in zip(model_of(agent).seen, NEEDED.items(), strict=True):
        block = seen.text.removeprefix(words)
        assert f"- {fact}" in block.splitlines()
        assert "- tone: brief" in block.splitlines()
        assert count_tokens(block) <= 300


@pytest.mark.usefixtures("_many_facts")
def test_what_the_conversation_contains_is_not_repeated(plugin: MemoryPlugin) -> None:
    agent = agent_with(plugin, call("recall", query="Where does Ana work?"), "At Praça Marquês.", "Take the metro.")

    agent("Where do I work?")
    agent("How do I get to the office?")

    of_first, after_recall, of_second = (seen.text for seen in model_of(agent).seen)
    assert "- Ana works in the tower" in of_first
    assert "- Ana works in the tower" not in after_recall
    assert "- Ana works in the tower" not in of_second


def test_where_nothing_can_be_said_nothing_is_added(plugin: MemoryPlugin) -> None:
    agent = agent_with(plugin, "Hello.", "Hello again.")

    agent("Hi")
    agent("Hi")

    assert [seen.text for seen in model_of(agent).seen] == ["Hi", "Hi"]


def test_an_agent_that_is_called_as_a_tool_gets_what_its_own_input_is_about(
    shared: SharedMemory, plugin: MemoryPlugin, ask: Ask[Any]
) -> None:
    ask(lambda memory: memory.facts.learn(ANA, Statement("Ana works in the tower at Praça Marquês.")))
    ask(lambda memory: memory.facts.learn(ANA, Statement("Ana's sister Inês collects stamps.")))
    plugin = MemoryPlugin("ana", "s1", memory=shared, max_tokens=150)
    inner = agent_with(plugin, "Stamps.", name="presents", description="Finds presents.")
    outer = agent_with(plugin, call("presents", input="A present for the sister?"), "Stamps.", tools=[inner])

    outer("Plan my day, please.")

    assert "stamps" in model_of(inner).seen[0].text


@pytest.mark.usefixtures("_many_facts")
def test_with_the_memory_manager_of_strands_there_is_one_block_and_its_tool_still_finds(shared: SharedMemory) -> None:
    (words, fact), *_ = NEEDED.items()
    model = ScriptedModel(call("search_memory", query="What does Ana eat?"), "A table for two.")
    agent = Agent(
        model=model,
        plugins=[MemoryPlugin("ana", "s1", memory=shared, offer_tools=False)],
        memory_manager=MemoryManager(stores=[MemoryStore("ana", memory=shared)]),
        callback_handler=None,
    )

    agent(words)

    assert model.seen[0].text.count("<memory") == 1
    assert model.seen[0].text.count(fact) == 1
    assert fact in model.seen[1].text.partition("<memory")[0]  # the answer of the tool


def test_the_memory_manager_still_adds_what_is_known_about_another_user(shared: SharedMemory, ask: Ask[Any]) -> None:
    ask(lambda memory: memory.facts.learn(Scope("team"), Statement("The office is closed on Friday.")))
    model = ScriptedModel("It is closed.")
    agent = Agent(
        model=model,
        plugins=[MemoryPlugin(memory=shared)],
        memory_manager=MemoryManager(stores=[MemoryStore("team", memory=shared)]),
        callback_handler=None,
    )

    agent("When is the office closed?", invocation_state=for_user("ana"))

    assert "closed on Friday" in model.seen[0].text


def test_a_new_conversation_begins_with_what_the_last_one_was_about(shared: SharedMemory, ask: Ask[Any]) -> None:
    async def talked(memory: Memory) -> None:
        earlier = Scope("ana", "monday")
        await memory.conversations.append(
            earlier, NewTurn(Role.USER, "I am looking for a flat with two rooms in Porto.")
        )
        await memory.conversations.append(earlier, NewTurn(Role.ASSISTANT, "Boavista has some that are quiet."))
        await memory.conversations.end(earlier)
        await memory.finalizer.finish([earlier])

    ask(talked)
    agent = agent_with(MemoryPlugin("ana", "tuesday", memory=shared), "Hello.")

    agent("Hello, it is me again.")
    agent("What now?")

    first, second = model_of(agent).seen
    assert "## Last conversation" in first.text
    assert "Porto" in first.text
    assert "## Last conversation" not in second.text
