"""What is kept is what was said: no replies of the memory, no redacted words, and each question, answered or not."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from strands import Agent, tool
from strands.memory import MemoryManager
from strands.multiagent import GraphBuilder

from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin, MemoryStore, for_user
from examples.scripted_model import Line, ScriptedModel, Seen, call
from mcp_memory_server import Role, Scope, Statement, View
from tests.plugins.strands.conftest import Ask, agent_with

ANA = Scope("ana", "s1")
REDACTED = "[User input redacted.]"


def turns(ask: Ask[Any], scope: Scope = ANA) -> list[Any]:
    return list(ask(lambda memory: memory.conversations.load(scope, turns=500, view=View.EVERYTHING)).turns)


class GuardedModel(ScriptedModel):
    """A model whose guardrail redacts what the user said, as Bedrock's does, at the end of its stream."""

    def get_config(self) -> dict[str, Any]:
        return {"guardrail_id": "g-1"}

    async def stream(self, messages: Any, *arguments: Any, **more: Any) -> AsyncGenerator[Any, None]:
        is_bad = "bluebird" in str(messages[-1])
        async for event in super().stream(messages, *arguments, **more):  # pyright: ignore[reportGeneralTypeIssues]
            yield event
        if is_bad:
            yield {"redactContent": {"redactUserContentMessage": REDACTED, "redactAssistantContentMessage": "No."}}


def failing(_: Seen) -> str:
    raise ConnectionError("the model is gone")


def test_a_reply_of_a_memory_tool_is_not_kept_as_a_turn(plugin: MemoryPlugin, ask: Ask[Any]) -> None:
    @tool
    def stock(title: str) -> str:
        """Return how many copies there are."""
        return f"3 copies of {title}"

    ask(lambda memory: memory.facts.learn(ANA, Statement("Ana collects stamps.")))
    script: list[Line] = [[call("recall", query="stamps"), call("stock", title="Dune")], call("load_context"), "Done."]
    agent_with(plugin, *script, tools=[stock])("What do I collect?")

    kept = turns(ask)
    assert [turn.content for turn in kept if turn.content] == ["What do I collect?", "3 copies of Dune", "Done."]
    assert [each["name"] for turn in kept for each in turn.tool_calls] == ["recall", "stock", "load_context"]


def test_what_the_memory_manager_of_strands_finds_is_not_kept_as_a_turn(shared: SharedMemory, ask: Ask[Any]) -> None:
    ask(lambda memory: memory.facts.learn(ANA, Statement("Ana collects stamps.")))
    agent = agent_with(
        MemoryPlugin("ana", "s1", memory=shared, offer_tools=False),
        call("search_memory", query="stamps"),
        lambda seen: f"Found: {'stamps' in seen.text}.",
        memory_manager=MemoryManager(stores=[MemoryStore("ana", memory=shared)], injection=False),
    )

    agent("What do I collect?")

    assert [turn.content for turn in turns(ask) if turn.content] == ["What do I collect?", "Found: True."]


def test_a_tool_of_the_developer_with_the_name_of_a_memory_tool_is_kept(shared: SharedMemory, ask: Ask[Any]) -> None:
    @tool
    def recall(product: str) -> str:
        """Return whether a product was recalled by its maker."""
        return f"{product}: recalled in May"

    plugin = MemoryPlugin("ana", "s1", memory=shared, offer_tools=False)
    agent_with(plugin, call("recall", product="Kettle 7"), "It was.", tools=[recall])("Is my kettle safe?")

    assert "Kettle 7: recalled in May" in [turn.content for turn in turns(ask)]


def test_a_forgotten_fact_is_never_recalled_again_in_50_turns(plugin: MemoryPlugin, ask: Ask[Any]) -> None:
    """Each recall would find the stored reply of the one before it."""
    learned = ask(lambda memory: memory.facts.learn(ANA, Statement("The alarm code of Ana is 4711.")))
    recall = call("recall", query="What is the alarm code?")
    agent = agent_with(plugin, *([recall, "One moment."] * 5), call("forget", id=learned.fact.id), "It is gone.", *(
        [recall, "I do not know it."] * 50
    ))  # fmt: skip
    for number in range(6):
        agent(f"What is the alarm code, please? ({number})")
    model = agent.model
    assert isinstance(model, ScriptedModel)
    model.seen.clear()

    for number in range(50):
        agent.messages.clear()  # what the model sees now, it sees because of the memory
        agent(f"And the alarm code now? ({number})")

    assert len(model.seen) == 100
    assert not [seen.text for seen in model.seen if "4711" in str(seen.messages)]


def test_a_superseded_fact_is_recalled_only_as_past(plugin: MemoryPlugin, ask: Ask[Any]) -> None:
    for employer in ("Acme", "Globex"):
        ask(lambda memory, e=employer: memory.facts.learn(ANA, Statement(f"Ana works at {e}.", topic="work/employer")))
    agent = agent_with(plugin, *([call("recall", query="Where does Ana work?"), "At Globex."] * 20))
    model = agent.model
    assert isinstance(model, ScriptedModel)

    for number in range(20):
        agent(f"Where do I work? ({number})")
    replies: list[Any] = [seen.messages[-1]["content"][0] for seen in model.seen[1::2]]
    found = [reply["toolResult"]["content"][0]["json"]["memories"] for reply in replies]
    asked = [str(one) for memories in found for one in memories if "Acme" in str(one)]

    assert len(asked) == 20
    assert all("'past': True" in one for one in asked), asked[-1]


def test_a_message_that_a_guardrail_redacts_is_kept_redacted(shared: SharedMemory, ask: Ask[Any]) -> None:
    model = GuardedModel("Your code word is bluebird.", "Hello.")
    agent = Agent(model=model, plugins=[MemoryPlugin("ana", "s1", memory=shared)], callback_handler=None)

    agent("My code word is bluebird.")
    agent("Hi.")

    assert [turn.content for turn in turns(ask)] == [REDACTED, "No.", "Hi.", "Hello."]


def test_an_answer_of_a_tool_that_a_guardrail_redacts_is_kept_redacted(shared: SharedMemory, ask: Ask[Any]) -> None:
    @tool
    def look() -> str:
        """Look."""
        return "It is bluebird."

    model = GuardedModel(call("look"), "It is bluebird.")
    plugin = MemoryPlugin("ana", "s1", memory=shared)
    Agent(model=model, plugins=[plugin], tools=[look], callback_handler=None)("Look it up.")

    assert [turn.content for turn in turns(ask)] == ["Look it up.", "", REDACTED, "No."]


def test_a_task_of_a_graph_that_a_guardrail_redacts_is_kept_redacted(shared: SharedMemory, ask: Ask[Any]) -> None:
    node = Agent(model=GuardedModel("No."), name="node", callback_handler=None)
    builder = GraphBuilder()
    builder.add_node(node, "node")
    plugins: list[Any] = [MemoryPlugin("ana", "s1", memory=shared)]
    builder.set_execution_timeout(60).set_plugins(plugins).build()("My code word is bluebird.")

    assert [turn.content for turn in turns(ask)] == [REDACTED, "No."]


def test_credentials_are_redacted_in_turns(plugin: MemoryPlugin, ask: Ask[Any]) -> None:
    key = "AKIAIOSFODNN7EXAMPLE"

    @tool
    def deploy(key: str) -> str:
        """Deploy with a key."""
        return f"deployed with {key}"

    agent_with(plugin, call("deploy", key=key), f"I used {key}.", tools=[deploy])(f"My AWS key is {key}. Deploy.")

    kept = turns(ask)
    assert len(kept) == 4
    assert key not in str(kept)


@pytest.mark.parametrize("guarded", [False, True])
def test_a_question_whose_agent_raised_is_kept(shared: SharedMemory, ask: Ask[Any], *, guarded: bool) -> None:
    model = (GuardedModel if guarded else ScriptedModel)(failing)
    agent = Agent(model=model, plugins=[MemoryPlugin("ana", "s1", memory=shared)], callback_handler=None)

    with pytest.raises(ConnectionError):
        agent("Where is my order?")

    assert [turn.content for turn in turns(ask)] == ["Where is my order?"]


@pytest.mark.parametrize("guarded", [False, True])
def test_a_question_whose_graph_raised_is_kept(shared: SharedMemory, ask: Ask[Any], *, guarded: bool) -> None:
    node = Agent(model=(GuardedModel if guarded else ScriptedModel)(failing), name="node", callback_handler=None)
    builder = GraphBuilder()
    builder.add_node(node, "node")
    plugins: list[Any] = [MemoryPlugin("ana", "s1", memory=shared)]

    with pytest.raises(ConnectionError):
        builder.set_execution_timeout(60).set_plugins(plugins).build()("Where is my order?")

    assert [turn.content for turn in turns(ask)] == ["Where is my order?"]


def test_in_30_parallel_graphs_each_question_is_stored_before_its_answers(shared: SharedMemory, ask: Ask[Any]) -> None:
    plugin = MemoryPlugin(memory=shared)

    async def run(number: int) -> None:
        builder = GraphBuilder()
        for name in ("one", "two"):
            builder.add_node(agent_with(None, f"Answer of {name}.", name=name), name)
        graph = builder.set_execution_timeout(60).set_plugins([plugin]).build()
        await graph.invoke_async(f"Question {number}?", invocation_state=for_user("ana", f"g{number}"))

    async def run_all() -> None:
        await asyncio.gather(*map(run, range(30)))

    asyncio.run(run_all())

    kept = [turns(ask, Scope("ana", f"g{number}")) for number in range(30)]
    assert [each[0].content for each in kept] == [f"Question {number}?" for number in range(30)]
    assert all([turn.role for turn in each] == [Role.USER, Role.ASSISTANT, Role.ASSISTANT] for each in kept)
