"""A squad with a memory: the prompt block of agents, the chosen agent, tools that break, and agents that fail."""

import asyncio
import json
import threading
from typing import Any

import pytest
from agent_squad.agents import BedrockLLMAgent, BedrockLLMAgentOptions, SupervisorAgent, SupervisorAgentOptions
from agent_squad.types import AgentProviderType, ConversationMessage
from agent_squad.utils import AgentTool, AgentToolCallbacks

from agent_plugins.agent_squad import GuardedTools, MemoryChatStorage, MemorySquad, memory_tools
from agent_plugins.breakers.circuit_rules import BreakerRules
from agent_plugins.breakers.tool_registry import Tool, ToolRegistry
from agent_plugins.memory.shared_memory import SharedMemory
from examples.scripted_bedrock import ScriptedBedrock
from mcp_memory_server import Scope, Settings, Statement, ToolStatus
from tests.plugins.agent_squad.conftest import Ask, ByName, Clerk

ANA = Scope("ana", "s1")
RULES = BreakerRules(threshold=3, rest=30.0)


def squad_of(shared: SharedMemory, *agents: Clerk, **more: Any) -> MemorySquad:
    squad = MemorySquad(classifier=ByName(), memory=shared, **more)
    for agent in agents:
        squad.add_agent(agent)
    return squad


def ask_squad(squad: MemorySquad, words: str, user: str = "ana", session: str = "s1") -> str:
    response = asyncio.run(squad.route_request(words, user, session))
    assert isinstance(response.output, ConversationMessage)
    return response.output.content[0]["text"]


def test_an_agent_of_any_class_gets_the_prompt_block_and_none_of_it_is_saved(shared: SharedMemory, ask: Ask) -> None:
    ask(lambda memory: memory.facts.learn(ANA, Statement("Ana lives in Lisbon.")))
    clerk = Clerk("orders", lambda _: "It is on its way to Lisbon.")
    squad = squad_of(shared, clerk)

    ask_squad(squad, "orders: where is it?")

    turns = ask(lambda memory: memory.conversations.load(ANA)).turns
    assert "Ana lives in Lisbon." in clerk.inputs[0]
    assert clerk.inputs[0].startswith("orders: where is it?")
    assert [turn.content for turn in turns] == ["orders: where is it?", "It is on its way to Lisbon."]


def test_an_agent_that_joins_late_gets_the_turns_of_the_others(shared: SharedMemory) -> None:
    search, orders = Clerk("search", lambda _: "It is Dune."), Clerk("orders", lambda _: "Ordered.")
    squad = squad_of(shared, search, orders)

    ask_squad(squad, "search for a book about a desert")
    ask_squad(squad, "orders: take it")

    assert "search: It is Dune." in orders.inputs[0]
    assert orders.histories[0] == []
    assert squad.coordinator("ana", "s1").state.conversation.active_agent == "orders"


def test_users_of_one_squad_learn_nothing_about_each_other(shared: SharedMemory) -> None:
    clerk = Clerk("orders", lambda _: "Noted.")
    squad = squad_of(shared, clerk)

    ask_squad(squad, "orders: my secret is bluebird", user="ana")
    ask_squad(squad, "orders: what do you know?", user="ben")

    assert "bluebird" not in clerk.inputs[1] + str(clerk.histories[1])


def test_classification_and_routing_are_noted_in_the_shared_state(shared: SharedMemory) -> None:
    squad = squad_of(shared, Clerk("orders", lambda _: "Done."))

    ask_squad(squad, "something else altogether")
    asked = squad.coordinator("ana", "s1").state.conversation
    ask_squad(squad, "orders: take it")
    chosen = squad.coordinator("ana", "s1").state.conversation

    assert asked.clarification is not None
    assert (chosen.active_agent, chosen.intent, chosen.clarification) == ("orders", "orders", None)
    assert chosen.turn_count == 1


def test_a_default_agent_has_a_memory_too(shared: SharedMemory, ask: Ask) -> None:
    ask(lambda memory: memory.facts.learn(ANA, Statement("Ana lives in Lisbon.")))
    clerk = Clerk("anybody", lambda _: "Hello.")
    squad = MemorySquad(classifier=ByName(), memory=shared, default_agent=clerk)

    ask_squad(squad, "hm")

    assert "Ana lives in Lisbon." in clerk.inputs[0]


@pytest.mark.parametrize("streams", [False, True])
def test_an_agent_that_raises_leaves_a_consistent_history(shared: SharedMemory, streams: bool) -> None:  # noqa: FBT001
    fails = [False, True, True, False]

    def answer(_: str) -> str:
        if fails.pop(0):
            raise ConnectionError("the model does not answer")
        return "Done."

    clerk = Clerk("orders", answer, streams=streams)
    squad = squad_of(shared, clerk)

    answers = [ask_squad(squad, f"orders: question {number}") for number in range(4)]

    roles = [message.role for message in clerk.histories[-1]]
    assert "the model does not answer" in answers[1]
    assert answers[3] == "Done."
    assert roles == ["user", "assistant"]
    assert squad.coordinator("ana", "s1").state.conversation.turn_count == 4


def test_an_agent_that_streams_keeps_its_final_message(shared: SharedMemory, ask: Ask) -> None:
    squad = squad_of(shared, Clerk("orders", lambda _: "Done.", streams=True))

    async def read() -> list[str]:
        response = await squad.route_request("orders: go", "ana", "s1", stream_response=True)
        chunks: Any = response.output
        return [chunk.text async for chunk in chunks]

    assert asyncio.run(read()) == ["…", ""]
    assert [turn.content for turn in ask(lambda memory: memory.conversations.load(ANA)).turns] == [
        "orders: go",
        "Done.",
    ]


def test_with_a_memory_that_cannot_be_opened_the_squad_answers(tmp_path: Any) -> None:
    (tmp_path / "file").write_text("in the way")
    clerk = Clerk("orders", lambda _: "Done.")
    shared = SharedMemory(Settings(table=f"sqlite://{tmp_path}/file/memory.db"))

    assert ask_squad(squad_of(shared, clerk), "orders: go") == "Done."
    assert 'status="unavailable"' in clerk.inputs[0]


class Noting(AgentToolCallbacks):
    def __init__(self) -> None:
        self.errors: list[str] = []

    async def on_tool_error(self, tool_name: Any, _input: Any, error: Exception, *_: Any, **__: Any) -> None:
        self.errors.append(f"{tool_name}: {error}")


class Response:
    """What a model of Bedrock answers when it calls a tool."""

    def __init__(self, name: str, **inputs: Any) -> None:
        self.content = [{"toolUse": {"name": name, "toolUseId": "t1", "input": inputs}}]


async def tool_call_id(tools: GuardedTools, name: str, **inputs: Any) -> str:
    message = await tools.tool_handler(AgentProviderType.BEDROCK.value, Response(name, **inputs), [])
    return message.content[0]["toolResult"]["content"][0]["text"]


def broken(title: str) -> str:
    """Search."""
    raise ConnectionError("no answer")


def shelf(title: str) -> str:
    """Look at the shelf."""
    return f"{title} is on the shelf"


def test_a_tool_that_raises_becomes_an_answer_is_reported_and_breaks_the_circuit() -> None:
    noting = Noting()
    registry = ToolRegistry([Tool("search", rules=RULES, alternatives=("shelf",))])
    tools = GuardedTools(
        [AgentTool("search", func=broken), AgentTool("shelf", func=shelf)], callbacks=noting, registry=registry
    )

    async def four() -> list[dict[str, Any]]:
        return [json.loads(await tool_call_id(tools, "search", title=f"Book {number}")) for number in range(4)]

    answers = asyncio.run(four())
    assert [each["error"] for each in answers] == ["tool_failed"] * 3 + ["tool_unavailable"]
    assert answers[3]["alternatives"] == ["shelf"]
    assert noting.errors == ["search: no answer"] * 3


def test_a_fallback_takes_the_place_of_a_broken_tool() -> None:
    registry = ToolRegistry([Tool("search", rules=RULES, fallback="shelf")])
    tools = GuardedTools([AgentTool("search", func=broken), AgentTool("shelf", func=shelf)], registry=registry)

    async def four() -> list[str]:
        return [await tool_call_id(tools, "search", title=f"Book {number}") for number in range(4)]

    assert asyncio.run(four())[3].startswith("Book 3 is on the shelf\nsearch is not available")


def test_a_tool_that_hangs_holds_up_neither_the_request_nor_the_loop() -> None:
    released = threading.Event()
    tools = GuardedTools([AgentTool("hang", func=lambda: released.wait(60))], tool_seconds=0.05)

    answer = json.loads(asyncio.run(tool_call_id(tools, "hang")))
    was_released = released.is_set()
    released.set()

    assert (answer["error"], was_released) == ("tool_timeout", False)


def test_a_tool_called_wrongly_or_by_a_wrong_name_is_not_taken_for_broken() -> None:
    tools = GuardedTools([AgentTool("shelf", func=shelf)])

    async def both() -> list[dict[str, Any]]:
        return [
            json.loads(await tool_call_id(tools, "shelf", titel="x")),
            json.loads(await tool_call_id(tools, "shelv", title="x")),
        ]

    wrong, unknown = asyncio.run(both())
    assert (wrong["error"], unknown["error"], unknown["tools"]) == ("invalid_request", "unknown_tool", ["shelf"])
    assert tools.registry.status()["tools"]["shelf"]["circuit"]["failures"] == 0


def test_tools_of_an_agent_in_a_squad_know_the_user_and_are_logged(shared: SharedMemory, ask: Ask) -> None:
    tools = GuardedTools([*memory_tools(), AgentTool("shelf", func=shelf)])

    async def answer(_: str) -> str:
        await tool_call_id(tools, "remember_fact", fact="Ana collects first editions.")
        await tool_call_id(tools, "shelf", title="Dune")
        return await tool_call_id(tools, "recall", query="What does Ana collect? first editions", user_id="ben")

    def refused(text: str) -> bool:
        return json.loads(text)["error"] == "invalid_request"

    squad = squad_of(shared, Clerk("orders", answer, streams=True))
    first = ask_squad(squad, "orders: remember this")

    async def logged(memory: Any) -> list[tuple[str, ToolStatus]]:
        await memory.tool_log.drain()
        return [(entry.name, entry.status) for entry in (await memory.tool_log.by_session(ANA, "s1")).calls]

    assert refused(first)  # nobody listens to a user that a model names
    assert [fact.text for fact in ask(lambda memory: memory.facts.all(ANA))] == ["Ana collects first editions."]
    assert set(ask(logged)) >= {("shelf", ToolStatus.OK), ("remember_fact", ToolStatus.OK)}


def test_the_same_call_again_and_again_is_stopped(shared: SharedMemory) -> None:
    tools = GuardedTools([AgentTool("shelf", func=shelf)])

    async def answer(_: str) -> str:
        return [await tool_call_id(tools, "shelf", title="Dune") for _ in range(6)][-1]

    assert json.loads(ask_squad(squad_of(shared, Clerk("orders", answer)), "orders: go"))["error"] == "repeated_call"


def test_memory_tools_outside_of_a_squad_say_what_is_missing() -> None:
    assert "MemorySquad" in asyncio.run(tool_call_id(GuardedTools(memory_tools()), "recall", query="x"))


def test_a_supervisor_with_a_team_works_on_the_storage_from_its_threads(shared: SharedMemory, ask: Ask) -> None:
    """It calls its team and the storage in threads, each with an event loop of its own that ends with the call."""
    squad = MemorySquad(classifier=ByName(), memory=shared)
    clerks = [Clerk(name, lambda _: "On its way.") for name in ("orders", "parcels")]
    asks = ("send_messages", {"messages": [{"recipient": clerk.name, "content": "Where is it?"} for clerk in clerks]})
    lead = BedrockLLMAgent(
        BedrockLLMAgentOptions(name="lead", description="Leads.", client=ScriptedBedrock(asks, lambda seen: seen))
    )
    team = [squad.remembering(clerk) for clerk in clerks]
    supervisor = SupervisorAgent(
        SupervisorAgentOptions(
            name="lead", description="Leads.", lead_agent=lead, team=team, storage=MemoryChatStorage(shared)
        )
    )
    ask(lambda memory: memory.facts.learn(ANA, Statement("Ana lives in Lisbon.")))

    answers = [
        str(asyncio.run(supervisor.process_request("Where are my things?", "ana", "s1", [])).__dict__) for _ in range(2)
    ]

    turns = ask(lambda memory: memory.conversations.load(ANA)).turns
    assert "orders: On its way." in answers[0]
    assert all("Ana lives in Lisbon." in clerk.inputs[0] for clerk in clerks)
    assert sorted(turn.content for turn in turns) == ["On its way."] * 2 + ["Where is it?"] * 2


def test_each_agent_learns_what_was_said_to_the_others_and_goes_on_knowing_it(shared: SharedMemory) -> None:
    search, orders = Clerk("search", lambda _: "It is Dune."), Clerk("orders", lambda _: "Ordered.")
    squad = squad_of(shared, search, orders)
    ask_squad(squad, "search for a book about a desert")
    ask_squad(squad, "orders: take it, to Porto")

    ask_squad(squad, "search for a second one")
    ask_squad(squad, "search for a third one")

    assert "- user: orders: take it, to Porto" in search.inputs[1]
    assert "- orders: Ordered." in search.inputs[1]
    assert "about a desert" not in search.inputs[1]  # which is in its own chat
    assert search.inputs[1].count("second one") == 1
    assert "- orders: Ordered." in search.inputs[2]


def test_a_squad_that_is_restarted_in_a_long_conversation_knows_its_beginning_and_its_end(shared: SharedMemory) -> None:
    orders = Clerk("orders", lambda _: "Noted.")
    squad = squad_of(shared, orders)
    for number in range(1, 42):
        stated = {1: "My locker has the number 4711.", 40: "My desk has the number 8222."}
        ask_squad(squad, "orders: " + stated.get(number, f"which cake would you bake on day {number}?"))

    for _ in range(5):
        restarted = squad_of(
            shared, again := Clerk("orders", lambda _: "Noted."), helps := Clerk("help", lambda _: "Hi.")
        )
        for words in ("orders: what now?", "help me", "help me again"):
            ask_squad(restarted, words)
        prompts = [*zip(again.inputs, again.histories, strict=True), *zip(helps.inputs, helps.histories, strict=True)]
        said = [words + str([message.content for message in history]) for words, history in prompts]
        assert [number in each for each in said for number in ("4711", "8222")] == [True] * 6


def test_what_a_user_states_to_a_squad_is_learned_after_the_turn_or_at_the_end(shared: SharedMemory, ask: Ask) -> None:
    squad = squad_of(shared, Clerk("orders", lambda _: "Noted."), learn_by="rules")
    later = squad_of(shared, Clerk("orders", lambda _: "Noted."))

    ask_squad(squad, "I live in Porto. Where are my orders?")
    for one in squad._memory.in_progress():
        one.result(30)
    first = [fact.text for fact in ask(lambda memory: memory.facts.all(ANA))]
    ask_squad(later, "I work at Acme. Where are my orders?")
    asyncio.run(later.end_session("ana", "s1"))

    assert first == ["The user lives in Porto."]
    assert len(ask(lambda memory: memory.facts.all(ANA))) == 2
