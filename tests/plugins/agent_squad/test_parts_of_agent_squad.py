"""Agent Squad's own parts in a squad with a memory: supervisors, retrievers, shared circuits, tools of MCP servers."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from agent_squad.agents import Agent, BedrockLLMAgent, BedrockLLMAgentOptions, SupervisorAgent, SupervisorAgentOptions
from agent_squad.retrievers import Retriever
from agent_squad.tools import MCPServerConfig, MCPToolProvider
from agent_squad.types import ConversationMessage
from agent_squad.utils import AgentTool

from agent_plugins.agent_squad import GuardedTools, MemoryChatStorage, MemorySquad
from agent_plugins.breakers.circuit_rules import BreakerRules
from agent_plugins.breakers.tool_registry import Tool, ToolRegistry
from agent_plugins.memory.shared_memory import SharedMemory
from examples.scripted_bedrock import ScriptedBedrock
from mcp_memory_server import InvalidRequestError, Role, Scope, Statement, View
from tests.plugins import shop_server
from tests.plugins.agent_squad.conftest import Ask, ByName, Clerk
from tests.plugins.fake_monotonic import FakeMonotonic

ANA = Scope("ana", "s1")


def ask_squad(squad: MemorySquad, words: str, user: str = "ana", session: str = "s1") -> str:
    response = asyncio.run(squad.route_request(words, user, session))
    assert isinstance(response.output, ConversationMessage)
    return response.output.content[0]["text"]


def model_agent(name: str, *script: Any, **more: Any) -> BedrockLLMAgent:
    client = ScriptedBedrock(*script)
    return BedrockLLMAgent(BedrockLLMAgentOptions(name=name, description=f"Is {name}.", client=client, **more))


def supervised(shared: SharedMemory, *team: Agent, extra_tools: Any = None) -> MemorySquad:
    messages = [{"recipient": member.name, "content": f"I need the parcels, {member.name}"} for member in team]
    lead = model_agent("lead", ("send_messages", {"messages": messages}), lambda seen: f"So: {seen}")
    squad = MemorySquad(classifier=ByName(), memory=shared)
    squad.add_agent(
        SupervisorAgent(
            SupervisorAgentOptions(
                name="lead",
                description="Leads.",
                lead_agent=lead,
                team=list(team),
                storage=MemoryChatStorage(shared),
                extra_tools=extra_tools,
            )
        )
    )
    return squad


def test_a_supervisor_in_a_squad_shares_the_memory_with_its_team(shared: SharedMemory, ask: Ask) -> None:
    ask(lambda memory: memory.facts.learn(ANA, Statement("Ana lives in Lisbon.")))
    clerks = [Clerk(name, lambda _: "On its way.") for name in ("orders", "parcels")]

    answer = ask_squad(supervised(shared, *clerks), "lead: where are my things?")

    assert "orders: On its way." in answer
    assert all("Ana lives in Lisbon." in clerk.inputs[0] for clerk in clerks)


def test_what_a_supervisor_asks_its_team_is_no_turn_of_the_user(shared: SharedMemory, ask: Ask) -> None:
    squad = supervised(shared, Clerk("orders", lambda _: "On its way."))

    ask_squad(squad, "lead: where are my things?")

    turns = ask(lambda memory: memory.conversations.load(ANA, turns=20, view=View.EVERYTHING)).turns
    assert [turn.content for turn in turns if turn.role is Role.USER] == ["lead: where are my things?"]
    assert [turn.speaker for turn in turns if "I need the parcels" in turn.content] == ["lead", "lead"][:1]


def test_a_member_of_a_team_sees_what_it_was_asked_before(shared: SharedMemory) -> None:
    clerk = Clerk("orders", lambda _: "On its way.")

    for _ in range(2):
        ask_squad(supervised(shared, clerk), "lead: where are my things?")

    assert [(message.role, message.content[0]["text"]) for message in clerk.histories[1]] == [
        ("user", "I need the parcels, orders"),
        ("assistant", "On its way."),
    ]


def test_tools_that_a_supervisor_has_beside_its_team_stay_guarded(shared: SharedMemory) -> None:
    squad = MemorySquad(classifier=ByName(), memory=shared, tools=[Tool("search", rules=BreakerRules(threshold=2))])
    searches = [("search", {"title": f"Book {number}"}) for number in range(3)]
    team = ("send_messages", {"messages": [{"recipient": "orders", "content": "Where is it?"}]})
    lead = model_agent("lead", *searches, team, lambda seen: seen)
    options = SupervisorAgentOptions(
        name="lead",
        description="Leads.",
        lead_agent=lead,
        team=[Clerk("orders", lambda _: "On its way.")],
        storage=MemoryChatStorage(shared),
        extra_tools=GuardedTools([AgentTool("search", func=broken)]),
    )
    squad.add_agent(SupervisorAgent(options))

    answer = ask_squad(squad, "lead: look for it")

    circuit = squad.status()["tools"]["search"]["owners"]["lead"]["circuit"]
    assert (circuit["state"], circuit["failures"], circuit["refused"]) == ("open", 2, 1)
    assert "On its way." in answer
    assert "send_messages" not in squad.status()["tools"]


class Shelf(Retriever):
    def __init__(self) -> None:
        super().__init__({})
        self.asked: list[str] = []

    async def retrieve(self, text: str) -> Any:
        self.asked.append(text)
        return []

    async def retrieve_and_combine_results(self, text: str) -> Any:
        self.asked.append(text)
        return "Dune is on the shelf."

    async def retrieve_and_generate(self, text: str) -> Any:
        return text


def test_a_retriever_is_asked_for_the_words_of_the_user_alone(shared: SharedMemory, ask: Ask) -> None:
    ask(lambda memory: memory.facts.learn(ANA, Statement("Ana lives in Lisbon.")))
    shelf = Shelf()
    agent = model_agent("orders", "Here it is.", retriever=shelf)
    squad = MemorySquad(classifier=ByName(), memory=shared)
    squad.add_agent(agent)

    ask_squad(squad, "orders: is Dune there?")

    assert shelf.asked == ["orders: is Dune there?"]
    assert isinstance(agent.client, ScriptedBedrock)
    assert "Ana lives in Lisbon." in agent.client.seen[0]


def broken(title: str) -> str:
    """Search."""
    raise ConnectionError("no answer")


def works(title: str) -> str:
    """Search."""
    return f"{title}: 3 copies"


def test_agents_of_one_squad_share_one_registry_in_which_each_has_its_own_circuits(shared: SharedMemory) -> None:
    calls = [("search", {"title": f"Book {number}"}) for number in range(3)]
    tools = [GuardedTools([AgentTool("search", func=function)]) for function in (broken, works)]
    first = model_agent("first", *calls, "Broken.", tool_config={"tool": tools[0]})
    second = model_agent("second", calls[0], lambda seen: seen, tool_config={"tool": tools[1]})
    rules = BreakerRules(threshold=3, rest=30.0)
    squad = MemorySquad(classifier=ByName(), memory=shared, tools=[Tool("search", rules=rules)])
    squad.add_agent(first)
    squad.add_agent(second)

    ask_squad(squad, "first: look for it")
    answer = ask_squad(squad, "second: look for it")

    assert "Book 0: 3 copies" in answer
    owners = squad.status()["tools"]["search"]["owners"]
    assert {owner: each["circuit"]["state"] for owner, each in owners.items()} == {"first": "open", "second": "closed"}


def test_a_function_that_several_agents_have_is_one_tool_with_one_circuit(shared: SharedMemory) -> None:
    calls = [("search", {"title": f"Book {number}"}) for number in range(3)]
    first = model_agent(
        "first", *calls, "Broken.", tool_config={"tool": GuardedTools([AgentTool("search", func=broken)])}
    )
    second = model_agent(
        "second", calls[0], lambda seen: seen, tool_config={"tool": GuardedTools([AgentTool("search", func=broken)])}
    )
    squad = MemorySquad(classifier=ByName(), memory=shared, tools=[Tool("search", rules=BreakerRules(threshold=3))])
    squad.add_agent(first)
    squad.add_agent(second)

    ask_squad(squad, "first: look for it")
    answer = ask_squad(squad, "second: look for it")

    assert "tool_unavailable" in answer
    assert squad.status()["tools"]["search"]["circuit"]["state"] == "open"


def test_tools_keep_the_circuits_that_they_were_given(shared: SharedMemory) -> None:
    own = ToolRegistry()
    tools = GuardedTools([AgentTool("search", func=broken)], registry=own)
    squad = MemorySquad(classifier=ByName(), memory=shared)

    squad.add_agent(model_agent("orders", "Hi.", tool_config={"tool": tools}))

    assert tools.registry is own
    assert tools.registry is not squad.registry


def test_a_question_is_stored_before_its_answer_and_kept_when_the_agent_raises(shared: SharedMemory, ask: Ask) -> None:
    async def look(_: str) -> str:
        turns = (await (await shared.get()).conversations.load(ANA)).turns
        seen.append([turn.content for turn in turns])
        raise ConnectionError("the model does not answer")

    seen: list[list[str]] = []
    squad = MemorySquad(classifier=ByName(), memory=shared)
    squad.add_agent(Clerk("orders", look))

    ask_squad(squad, "orders: where is it?")

    assert seen == [["orders: where is it?"]]
    assert [turn.content for turn in ask(lambda memory: memory.conversations.load(ANA)).turns] == [
        "orders: where is it?"
    ]


@pytest.fixture
def server(tmp_path: Any) -> MCPServerConfig:
    """Our own MCP server, as any other one for Agent Squad."""
    environment = {"MCP_MEMORY_TABLE": f"sqlite://{tmp_path}/of-the-server.db", "MCP_MEMORY_USER": "ana"}
    return MCPServerConfig(type="stdio", command=sys.executable, args=["-m", "mcp_memory_server"], env=environment)


def test_tools_of_an_mcp_server_are_guarded_like_all_others(shared: SharedMemory, server: MCPServerConfig) -> None:
    async def run() -> tuple[list[dict[str, Any]], str, dict[str, Any]]:
        provider = await MCPToolProvider.create([server])
        try:
            tools = GuardedTools(provider)
            squad = MemorySquad(classifier=ByName(), memory=shared)
            remember = ("remember_fact", {"fact": "Ana plays the cello."})
            agent = model_agent("orders", remember, lambda seen: seen, tool_config={"tool": tools})
            squad.add_agent(agent)
            response = await squad.route_request("orders: remember it", "ana", "s1")
            assert isinstance(response.output, ConversationMessage)
            return tools.to_bedrock_format(), response.output.content[0]["text"], squad.status()
        finally:
            await provider.disconnect()

    offered, answer, status = asyncio.run(run())

    names = [tool["toolSpec"]["name"] for tool in offered]
    assert "remember_fact" in names
    assert "learned" in answer
    assert status["tools"]["remember_fact"]["circuit"]["state"] == "closed"


def test_a_provider_that_is_not_connected_is_refused_with_how_to_connect_it(server: MCPServerConfig) -> None:
    with pytest.raises(InvalidRequestError, match=r"await MCPToolProvider\.create"):
        GuardedTools(MCPToolProvider([server]))


def test_an_mcp_tool_that_fails_counts_as_a_failure_and_the_model_reads_why(
    shared: SharedMemory, server: MCPServerConfig
) -> None:
    class Dead(MCPToolProvider):
        """A provider whose server is gone."""

        def to_claude_format(self) -> list[dict[str, Any]]:
            return [{"name": "search", "description": "Search.", "input_schema": {"type": "object", "properties": {}}}]

        async def _call_mcp_tool(self, tool_name: str, input_data: dict[str, Any]) -> Any:
            self._tool_map[tool_name] = Any  # pyright: ignore[reportArgumentType] - it has no session
            return await super()._call_mcp_tool(tool_name, input_data)

    tools = GuardedTools(Dead([server]))
    answer = asyncio.run(tools._process_tool("search", {}))

    assert "Error calling tool 'search'" in answer.content
    assert tools.registry.status()["tools"]["search"]["circuit"]["failures"] == 1


def test_the_probe_connects_a_dead_mcp_server_again(tmp_path: Path, monotonic: FakeMonotonic) -> None:
    dies = tmp_path / "dies"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    arguments = [str(Path(shop_server.__file__)), str(dies)]
    config = MCPServerConfig(type="stdio", command=sys.executable, args=arguments, env=environment)
    registry = ToolRegistry([Tool("price", rules=BreakerRules(threshold=2))], monotonic=monotonic)

    async def run() -> list[str]:
        provider = await MCPToolProvider.create([config])
        tools = GuardedTools(provider, registry=registry)

        async def price(title: str) -> str:
            answer = await tools._process_tool("price", {"title": title})
            return getattr(answer, "content", answer)

        dies.touch()
        answers = [await price(f"Book {number}") for number in range(3)]
        monotonic.advance(31)
        answers.append(await price("Book 3"))  # the new server dies too
        dies.unlink()
        monotonic.advance(31)
        answers += [await price("Book 4"), await price("Book 5")]
        await provider.disconnect()
        return answers

    answers = asyncio.run(run())

    assert [answer.startswith("Error calling tool") for answer in answers] == [True, True, False, True, False, False]
    assert json.loads(answers[2])["error"] == "tool_unavailable"
    assert answers[4:] == ["Book 4 costs 9 EUR", "Book 5 costs 9 EUR"]
    assert registry.status()["tools"]["price"]["owners"]["shop"]["circuit"]["state"] == "closed"


def test_settings_that_name_no_place_are_refused_where_the_squad_is_made() -> None:
    with pytest.raises(InvalidRequestError, match="memory must be"):
        MemorySquad(classifier=ByName(), memory=42)  # pyright: ignore[reportArgumentType]


def test_the_json_of_a_refused_tool_names_the_tool() -> None:
    tools = GuardedTools([AgentTool("search", func=broken)])

    answer = json.loads(asyncio.run(tools._process_tool("search", {"title": "Dune"})))

    assert (answer["error"], answer["tool"]) == ("tool_failed", "search")
