"""Tools that break, hang, recover or loop: what the model gets, and what is counted."""

import asyncio
import json
import threading
from typing import Any, cast

import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from strands import tool
from strands.multiagent import Swarm
from strands.tools.mcp import MCPClient

from agent_plugins.breakers.circuit_rules import BreakerRules
from agent_plugins.breakers.tool_registry import Tool, ToolRegistry
from agent_plugins.guards.findings import GuardRules
from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin, for_user
from examples.scripted_model import Call, Seen, call
from mcp_memory_server import Scope, ToolStatus
from tests.plugins.strands.conftest import Ask, agent_with, model_of

RULES = BreakerRules(threshold=3, rest=30.0)


class Catalogue:
    """A search that is broken until it is repaired, and counts its calls."""

    def __init__(self) -> None:
        self.is_broken = True
        self.calls = 0

        @tool
        def search(title: str) -> str:
            """Search the catalogue."""
            self.calls += 1
            if self.is_broken:
                raise ConnectionError("the catalogue does not answer")
            return f"{title}: 3 copies"

        @tool
        def shelf(title: str) -> str:
            """Look at the shelf."""
            return f"{title}: on the shelf"

        self.search, self.shelf = search, shelf


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def searches(times: int) -> list[Call]:
    return [call("search", title=f"Book {number}") for number in range(times)]


def errors(model_saw: list[Seen]) -> list[dict[str, Any]]:
    """Return the structured errors that the model got."""
    return [json.loads(line) for seen in model_saw for line in seen.text.splitlines() if line.startswith('{"error"')]


def test_a_tool_that_fails_too_often_is_not_called_and_the_model_gets_an_alternative(shared: SharedMemory) -> None:
    catalogue = Catalogue()
    plugin = MemoryPlugin("ana", memory=shared, tools=[Tool("search", alternatives=("shelf",), rules=RULES)])
    agent = agent_with(plugin, *searches(5), "Sorry.", tools=[catalogue.search, catalogue.shelf])

    agent("Find five books.")

    errors_seen = errors(model_of(agent).seen)
    assert catalogue.calls == 3
    assert [error["error"] for error in errors_seen] == ["tool_unavailable", "tool_unavailable"]
    assert errors_seen[0]["alternatives"] == ["shelf"]
    assert errors_seen[0]["retry_after_seconds"] > 0
    assert plugin.status()["tools"]["search"]["health"] == "unavailable"


def test_a_tool_that_recovers_is_tried_with_one_call_and_used_again(shared: SharedMemory) -> None:
    catalogue, clock = Catalogue(), Clock()
    registry = ToolRegistry([Tool("search", rules=RULES)], monotonic=clock)
    plugin = MemoryPlugin("ana", memory=shared, tools=registry)
    agent = agent_with(plugin, *searches(4), "Broken.", *searches(2), "Found.", tools=[catalogue.search])

    agent("Find it.")
    catalogue.is_broken = False
    clock.now += 31
    agent("Try again.")

    assert catalogue.calls == 3 + 2
    assert plugin.status()["tools"]["search"]["circuit"]["state"] == "closed"
    assert "Book 1: 3 copies" in model_of(agent).seen[-1].text


def test_a_fallback_takes_the_place_of_a_broken_tool_and_says_so(shared: SharedMemory) -> None:
    catalogue = Catalogue()
    plugin = MemoryPlugin("ana", memory=shared, tools=[Tool("search", fallback="shelf", rules=RULES)])
    agent = agent_with(plugin, *searches(4), "Done.", tools=[catalogue.search, catalogue.shelf])

    agent("Find books.")

    last = model_of(agent).seen[-1].text
    assert "Book 3: on the shelf" in last
    assert "this is the answer of shelf" in last
    assert plugin.status()["tools"]["shelf"]["circuit"]["calls"] == 1


def test_a_tool_that_hangs_ends_in_time_and_the_agent_does_not_wait_for_it(shared: SharedMemory, ask: Ask[Any]) -> None:
    released, late = threading.Event(), list[str]()

    @tool
    def hang() -> str:
        """Hang."""
        released.wait(60)
        late.append("late")
        return "late"

    @tool
    async def hang_async() -> str:
        """Hang, politely."""
        await asyncio.sleep(60)
        return "late"

    plugin = MemoryPlugin("ana", "s1", memory=shared, tools=[Tool("hang", timeout=0.1)], tool_seconds=0.1)
    agent = agent_with(plugin, call("hang"), call("hang_async"), "Never mind.", tools=[hang, hang_async])

    answer = str(agent("Try both."))
    came_first = not late
    released.set()

    async def logged(memory: Any) -> list[ToolStatus]:
        await memory.tool_log.drain()
        return [entry.status for entry in (await memory.tool_log.by_time(Scope("ana"))).calls]

    assert (answer.strip(), came_first) == ("Never mind.", True)
    assert [error["error"] for error in errors(model_of(agent).seen)] == ["tool_timeout", "tool_timeout"]
    assert plugin.status()["tools"]["hang"]["circuit"]["timeouts"] == 1
    assert ask(logged) == [ToolStatus.TIMEOUT, ToolStatus.TIMEOUT]


def test_a_tool_that_is_called_wrongly_is_not_taken_for_broken(shared: SharedMemory) -> None:
    catalogue = Catalogue()
    plugin = MemoryPlugin("ana", memory=shared, tools=[Tool("search", rules=RULES)])
    wrong = [call("search", titel=f"Book {number}") for number in range(4)]
    agent = agent_with(plugin, *wrong, "I give up.", tools=[catalogue.search])

    agent("Find it.")

    circuit = plugin.status()["tools"]["search"]["circuit"]
    assert (circuit["state"], circuit["failures"], catalogue.calls) == ("closed", 0, 0)


@pytest.mark.parametrize("failure", ["foreseen", "unforeseen"])
def test_a_tool_of_an_mcp_server_fails_by_its_status_and_that_counts(shared: SharedMemory, failure: str) -> None:
    from mcp.client._memory import InMemoryTransport

    server = MCPServer("shop")

    @server.tool()
    def price(title: str) -> str:
        """Return the price."""
        raise ToolError("the till is closed") if failure == "foreseen" else ValueError("no such book")

    plugin = MemoryPlugin("ana", memory=shared, tools=[Tool("price", rules=RULES)])
    calls = [call("price", title=f"Book {number}") for number in range(4)]
    with MCPClient(lambda: cast("Any", InMemoryTransport(server))) as client:
        agent = agent_with(plugin, *calls, "Closed.", tools=client.list_tools_sync())
        agent("How much?")

    circuit = plugin.status()["tools"]["price"]["circuit"]
    assert (circuit["state"], circuit["calls"], circuit["failures"], circuit["refused"]) == ("open", 3, 3, 1)


def test_the_same_call_again_and_again_is_noted_then_stopped_and_counted(shared: SharedMemory) -> None:
    catalogue = Catalogue()
    catalogue.is_broken = False
    plugin = MemoryPlugin("ana", memory=shared)
    again = [call("search", title="Dune")] * 8
    agent = agent_with(plugin, *again, "Enough.", tools=[catalogue.search])

    agent("Find Dune.")

    errors_seen = [seen.text for seen in model_of(agent).seen[1:]]
    assert catalogue.calls == 5
    assert "same arguments" not in errors_seen[1]
    assert "3 times with the same arguments" in errors_seen[2]
    assert errors(model_of(agent).seen)[0]["error"] == "repeated_call"
    assert plugin.status()["guards"]["repeated_call"] == 6


def test_a_new_question_may_need_the_same_call(shared: SharedMemory) -> None:
    catalogue = Catalogue()
    catalogue.is_broken = False
    plugin = MemoryPlugin("ana", memory=shared)
    agent = agent_with(plugin, *[call("search", title="Dune"), "Found."] * 4, tools=[catalogue.search])

    for _ in range(4):
        agent("Is Dune there?")

    assert plugin.status()["guards"]["repeated_call"] == 0


def test_the_prompt_of_a_turn_past_its_time_asks_the_model_to_finish(shared: SharedMemory) -> None:
    plugin = MemoryPlugin("ana", memory=shared, task_seconds=0.0001)
    agent = agent_with(plugin, call("recall", query="anything"), lambda seen: seen.line("over budget"))

    answer = str(agent("Take your time."))

    assert "finish now" in answer
    assert plugin.status()["guards"]["over_budget"] >= 1


def test_tools_show_their_schema_and_health(shared: SharedMemory) -> None:
    catalogue = Catalogue()
    catalogue.is_broken = False
    plugin = MemoryPlugin("ana", memory=shared)
    agent_with(plugin, call("search", title="Dune"), "Found.", tools=[catalogue.search])("Find Dune.")

    shown = plugin.status()["tools"]["search"]

    assert shown["schema"]["properties"]["title"]["type"] == "string"
    assert (shown["health"], shown["circuit"]["calls"]) == ("healthy", 1)
    assert plugin.status()["in_flight"] == []


def search_of(shop: str, *, is_broken: bool) -> Any:
    @tool(name="search")
    def search(title: str) -> str:
        """Search the catalogue."""
        if is_broken:
            raise ConnectionError("no answer")
        return f"{shop} has {title}"

    return search


def test_a_broken_search_of_one_agent_takes_nothing_from_the_search_of_another(shared: SharedMemory) -> None:
    plugin = MemoryPlugin("ana", memory=shared, tools=[Tool("search", rules=RULES)])
    broken = agent_with(plugin, *searches(4), "Broken.", name="shop", tools=[search_of("shop", is_broken=True)])
    well = agent_with(plugin, *searches(1), "Found.", name="library", tools=[search_of("library", is_broken=False)])

    broken("Find it.")
    well("Find it.")

    assert "library has Book 0" in model_of(well).seen[-1].text
    owners = plugin.status()["tools"]["search"]["owners"]
    assert {owner: each["circuit"]["state"] for owner, each in owners.items()} == {"shop": "open", "library": "closed"}


def test_a_tool_that_two_agents_have_is_one_tool(shared: SharedMemory) -> None:
    catalogue = Catalogue()
    plugin = MemoryPlugin("ana", memory=shared, tools=[Tool("search", rules=RULES)])
    first = agent_with(plugin, *searches(3), "Broken.", name="shop", tools=[catalogue.search])
    second = agent_with(plugin, *searches(1), "Broken.", name="library", tools=[catalogue.search])

    first("Find it.")
    second("Find it.")

    assert errors(model_of(second).seen)[0]["error"] == "tool_unavailable"
    assert catalogue.calls == 3


def test_steps_of_a_task_and_their_errors_name_the_tool(shared: SharedMemory) -> None:
    plugin = MemoryPlugin("ana", "s1", memory=shared, task_seconds=600, tools=[Tool("hang", timeout=0.05)])

    @tool
    async def hang() -> str:
        """Hang."""
        await asyncio.sleep(60)
        return "late"

    script = (call("search", title="Dune"), call("search", title="Emma"), call("hang"), lambda seen: seen.text)
    answer = str(agent_with(plugin, *script, tools=[search_of("shop", is_broken=True), hang])("Find both."))

    assert 'failed: "search 2": "Error: ConnectionError - no answer"' in answer
    assert 'timed out: "hang"' in answer
    assert "tooluse" not in answer


@tool
def order_status(order: str) -> str:
    """Return the status of an order."""
    if order == "x4":
        raise ValueError("no order 'x4'")
    return "sent"


def test_five_wrong_orders_of_one_user_do_not_take_the_tool_from_another(shared: SharedMemory) -> None:
    plugin = MemoryPlugin(memory=shared, guard_rules=GuardRules(repeats=20, stop_after=20))
    wrong = [call("order_status", order="x4")] * 6
    agent = agent_with(plugin, *wrong, "There is none.", call("order_status", order="x5"), "It is sent.")
    agent.tool_registry.process_tools([order_status])

    agent("Where is x4?", invocation_state=for_user("ana", "s1"))
    agent("Where is x5?", invocation_state=for_user("ben", "s2"))

    circuit = plugin.status()["tools"]["order_status"]["circuit"]
    assert (circuit["state"], circuit["ignored"], circuit["calls"]) == ("closed", 6, 7)
    assert errors(model_of(agent).seen) == []


def test_a_handoff_is_never_refused_however_often_it_fails(shared: SharedMemory) -> None:
    plugin = MemoryPlugin("ana", memory=shared, guard_rules=GuardRules(repeats=20, stop_after=20))
    lost = [call("handoff_to_agent", agent_name=f"agent {number}", message="take over") for number in range(8)]
    found = call("handoff_to_agent", agent_name="second", message="take over")
    first = agent_with(None, *lost, found, "Handed over.", name="first")
    second = agent_with(None, "Done.", name="second")

    Swarm([first, second], plugins=[plugin])("Find it.")

    assert errors(model_of(first).seen) == []
    assert len(model_of(second).seen) == 1
    assert "handoff_to_agent" not in plugin.status()["tools"]
