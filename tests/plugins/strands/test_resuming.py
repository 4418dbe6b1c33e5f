"""The conversation so far is there for every following turn: after a restart, another user, or another agent."""

from pathlib import Path
from typing import Any

from strands import Agent
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.multiagent import GraphBuilder
from strands.session import SnapshotSessionManager

from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin, SessionStorage, for_user
from examples.scripted_model import ScriptedModel, Seen
from mcp_memory_server import NewTurn, Role, Scope, Settings, Statement
from tests.plugins.strands.conftest import Ask, agent_with, model_of

ANA = Scope("ana", "s1")
TURNS, RESTARTS = 41, 5
STATED = (
    "My locker has the number 4711.",
    "I live in Porto.",
    "My daughter is called Inês.",
    "I work at the harbour since 2019.",
    "I am allergic to peanuts.",
    "My train leaves at 7:45.",
    "My favourite colour is green.",
    "I drive a Renault Clio.",
    "My passport expires in May 2031.",
    "We meet at platform 12.",
    "My brother plays the cello.",
    "I prefer short answers.",
)


def everything(seen: Seen) -> str:
    """Return all that the model was sent, the prompt block too."""
    return str(seen.messages)


def roles(messages: Any) -> list[str]:
    return [message["role"] for message in messages]


def small_talk(number: int) -> str:
    return f"Which of the two recipes for cake number {number} would you bake, and why?"


def said(number: int) -> str:
    stated = {1: "My locker at the station has the number 4711.", 40: "My desk at work has the number 8222."}
    return stated.get(number, small_talk(number))


def test_a_session_of_41_turns_that_is_killed_five_times_knows_its_first_turn_and_its_40th_in_every_later_turn(
    tmp_path: Path,
) -> None:
    prompts: list[str] = []
    settings = Settings(table=f"sqlite://{tmp_path}/memory.db")
    for life in range(RESTARTS + 1):
        shared = SharedMemory(settings)
        agent = agent_with(MemoryPlugin("ana", "s1", memory=shared), "I would bake the lighter one.")
        numbers = range(1, TURNS + 1) if life == 0 else range(TURNS + 3 * life - 2, TURNS + 3 * life + 1)
        for number in numbers:
            agent(said(number))
        prompts += map(everything, model_of(agent).seen)
        shared.close()  # nothing but the file is left

    assert len(prompts) == TURNS + 3 * RESTARTS
    assert [number for number, prompt in enumerate(prompts, 1) if "4711" not in prompt] == []
    assert [number for number, prompt in enumerate(prompts[40:], 41) if "8222" not in prompt] == []


def test_the_last_turns_become_messages_again_in_every_following_turn(plugin: MemoryPlugin) -> None:
    agent_with(plugin, "It arrives on Friday.")("Where is my order?")

    restarted = agent_with(plugin, "On Friday.")
    for words in ("When again?", "And where?", "Thanks."):
        restarted(words)

    for seen in model_of(restarted).seen:
        texts = [message["content"][0].get("text") for message in seen.messages]
        assert texts[:2] == ["Where is my order?", "It arrives on Friday."]
        assert "Friday" not in seen.text
    assert roles(model_of(restarted).seen[-1].messages) == ["user", "assistant"] * 3 + ["user"]


def test_what_was_restored_is_not_saved_again(plugin: MemoryPlugin, ask: Ask[Any]) -> None:
    agent_with(plugin, "It arrives on Friday.")("Where is my order?")

    agent_with(plugin, "On Friday.")("When again?")

    assert ask(lambda memory: memory.conversations.load(ANA)).turn_count == 4


def test_an_agent_with_messages_of_its_developer_gets_the_conversation_after_them(plugin: MemoryPlugin) -> None:
    agent_with(plugin, "It arrives on Friday.")("Where is my order?")

    seeds: Any = [
        {"role": "user", "content": [{"text": "Hi."}]},
        {"role": "assistant", "content": [{"text": "Hello!"}]},
    ]
    seeded = agent_with(plugin, "On Friday.", messages=seeds)
    seeded("When again?")
    seeded("Thanks.")

    for seen in model_of(seeded).seen:
        texts = [message["content"][0].get("text") for message in seen.messages]
        assert texts[:4] == ["Hi.", "Hello!", "Where is my order?", "It arrives on Friday."]


def test_after_another_user_an_agent_goes_on_where_it_was(shared: SharedMemory) -> None:
    agent = agent_with(MemoryPlugin(memory=shared), "Noted.")

    for words, user in (("I am Ana.", "ana"), ("I am Ben.", "ben"), ("Who am I?", "ana"), ("And now?", "ana")):
        agent(words, invocation_state=for_user(user, "s1"))

    *_, third, fourth = map(everything, model_of(agent).seen)
    assert "I am Ana." in third
    assert "I am Ana." in fourth
    assert "Ben" not in third + fourth


def test_an_agent_learns_what_was_said_to_another_one_of_the_session(plugin: MemoryPlugin) -> None:
    search, orders = (agent_with(plugin, f"This is {name}.", name=name) for name in ("search", "orders"))
    search("Find a book about a desert.")
    orders("Order it.")

    search("And a second one.")
    search("And a third one.")

    for seen in model_of(search).seen[1:]:
        assert everything(seen).count("Order it.") == 1
        assert "[orders] This is orders." in everything(seen)
        assert roles(seen.messages)[:2] == ["user", "assistant"]
    assert set(roles(model_of(search).seen[-1].messages)[::2]) == {"user"}  # they alternate


def test_what_leaves_a_sliding_window_is_still_known(plugin: MemoryPlugin) -> None:
    window = SlidingWindowConversationManager(window_size=6)
    agent = agent_with(plugin, "I would bake the lighter one.", conversation_manager=window)

    for words in STATED:
        agent(words)

    prompts = [everything(seen) for seen in model_of(agent).seen]
    assert max(len(seen.messages) for seen in model_of(agent).seen) <= 8
    for number, prompt in enumerate(prompts, 1):
        assert [words for words in STATED[:number] if words not in prompt] == []


def test_an_unanswered_question_is_part_of_the_conversation_that_is_resumed(
    plugin: MemoryPlugin, ask: Ask[Any]
) -> None:
    ask(lambda memory: memory.conversations.append(ANA, NewTurn(Role.USER, "Where is my order?")))

    agent = agent_with(plugin, "On its way.")
    agent("Hello?")

    (seen,) = model_of(agent).seen
    assert roles(seen.messages) == ["user", "assistant", "user"]
    assert seen.messages[0]["content"] == [{"text": "Where is my order?"}]


def test_what_was_forgotten_is_not_resumed(plugin: MemoryPlugin, ask: Ask[Any]) -> None:
    agent_with(plugin, "Noted.")("The alarm code of my house is 4711.")
    fact = ask(lambda memory: memory.facts.learn(ANA, Statement("The alarm code of Ana's house is 4711."))).fact
    ask(lambda memory: memory.erasure.forget(ANA, fact.id))

    agent = agent_with(plugin, "I do not know it.")
    agent("What is it?")

    assert "4711" not in everything(model_of(agent).seen[0])


def test_an_agent_whose_session_is_restored_by_strands_does_not_get_it_twice(shared: SharedMemory) -> None:
    def restarted() -> Agent:
        storage = SnapshotSessionManager("chat-7", storage=SessionStorage("ana", memory=shared))
        return agent_with(
            MemoryPlugin("ana", "s1", memory=shared), "On Friday.", session_manager=storage, agent_id="clerk"
        )

    restarted()("Where is my order?")
    agent = restarted()
    agent("When again?")

    assert everything(model_of(agent).seen[0]).count("Where is my order?") == 1


def test_agents_of_a_graph_get_what_was_said_before_in_every_turn(plugin: MemoryPlugin) -> None:
    agent_with(plugin, "Noted.")("My locker has the number 4711.")
    node = Agent(model=ScriptedModel("I see."), name="node", callback_handler=None)
    builder = GraphBuilder()
    builder.add_node(node, "node")
    plugins: list[Any] = [plugin]
    graph = builder.set_execution_timeout(60).set_plugins(plugins).build()

    for number in range(3):
        graph(f"Question {number}?")

    assert ["4711" in everything(seen) for seen in model_of(node).seen] == [True] * 3
