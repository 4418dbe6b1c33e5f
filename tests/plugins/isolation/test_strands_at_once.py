"""Users who speak at the same moment to one agent, Swarm or Graph: none of them meets another's words."""

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from strands import Agent, tool
from strands.models.model import Model
from strands.multiagent import GraphBuilder, Swarm

from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin, for_user
from examples.scripted_model import Line, Seen, call
from mcp_memory_server import Settings
from tests.plugins.isolation.rounds import echo, echoing, find_crossed_writes, run_in_one_loop, run_in_threads

QUICK_ROUNDS = 4
SLOW_ROUNDS = 200


@dataclass
class Shared:
    """An object that all users call at once, and the models in it."""

    target: Any
    models: list[Model]

    def invoke(self, words: str, user: str, session: str) -> object:
        return _answered(self.target(words, invocation_state=for_user(user, session)))

    async def invoke_async(self, words: str, user: str, session: str) -> object:
        return _answered(await self.target.invoke_async(words, invocation_state=for_user(user, session)))


def _answered(result: Any) -> object:
    """Return the result; raise if a node was refused, which Strands reports in the result."""
    for node in getattr(result, "results", {}).values():
        if isinstance(node.result, Exception):
            raise node.result
    return result


def one_agent(plugin: MemoryPlugin) -> Shared:
    agent = Agent(model=echoing(), plugins=[plugin], callback_handler=None)
    return Shared(agent, [agent.model])


def a_graph(plugin: MemoryPlugin) -> Shared:
    agents = {name: Agent(model=echoing(), name=name, callback_handler=None) for name in ("one", "two", "last")}
    builder = GraphBuilder()
    for name, agent in agents.items():
        builder.add_node(agent, name)
    builder.add_edge("one", "last")
    builder.add_edge("two", "last")
    graph = builder.set_execution_timeout(60).set_plugins([plugin]).build()
    return Shared(graph, [agent.model for agent in agents.values()])


def calling(tool_name: str, **arguments: Callable[[Seen], Any]) -> Line:
    """Return the line of a model that calls a tool first, and then repeats what it answered."""

    def line(seen: Seen) -> Any:
        if "toolResult" in seen.messages[-1]["content"][0]:
            return echo(seen)
        return call(tool_name, **{name: make(seen) for name, make in arguments.items()})

    return line


def a_swarm(plugin: MemoryPlugin) -> Shared:
    hand_over = calling(
        "handoff_to_agent", agent_name=lambda _: "orders", message=echo, context=lambda seen: {"said": echo(seen)}
    )
    first = Agent(model=echoing(hand_over), name="first", callback_handler=None)
    orders = Agent(model=echoing(), name="orders", callback_handler=None)
    return Shared(Swarm([first, orders], entry_point=first, plugins=[plugin]), [first.model, orders.model])


def agents_as_tools(plugin: MemoryPlugin) -> Shared:
    inner = Agent(model=echoing(), name="inner", description="Listens.", plugins=[plugin], callback_handler=None)
    asks = echoing(calling("inner", input=echo))
    outer = Agent(model=asks, name="outer", tools=[inner], plugins=[plugin], callback_handler=None)
    return Shared(outer, [outer.model, inner.model])


def agents_in_functions(plugin: MemoryPlugin) -> Shared:
    inner = Agent(model=echoing(), name="inner", plugins=[plugin], callback_handler=None)

    @tool
    def ask_inner(question: str) -> str:
        """Ask another agent."""
        return str(inner(question))

    asks = echoing(calling("ask_inner", question=echo))
    outer = Agent(model=asks, name="outer", tools=[ask_inner], plugins=[plugin], callback_handler=None)
    return Shared(outer, [outer.model, inner.model])


MAKERS = [one_agent, a_graph, a_swarm, agents_as_tools, agents_in_functions]
Make = Callable[[MemoryPlugin], Shared]


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def make(request: pytest.FixtureRequest) -> Make:
    return request.param


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[SharedMemory]:
    shared = SharedMemory(Settings(table=f"sqlite://{tmp_path}/memory.db"))
    yield shared
    shared.close()


async def written(shared: SharedMemory, rounds: int) -> tuple[list[str], int]:
    return await find_crossed_writes(await shared.get(), rounds)


def test_users_in_threads_never_meet_each_other(make: Make, memory: SharedMemory) -> None:
    check_in_threads(make, memory, QUICK_ROUNDS)


def test_users_in_one_event_loop_never_meet_each_other(make: Make, memory: SharedMemory) -> None:
    check_in_one_loop(make, memory, QUICK_ROUNDS)


@pytest.mark.slow
def test_users_in_threads_never_meet_each_other_in_200_rounds(make: Make, memory: SharedMemory) -> None:
    check_in_threads(make, memory, SLOW_ROUNDS)


@pytest.mark.slow
def test_users_in_one_event_loop_never_meet_each_other_in_200_rounds(make: Make, memory: SharedMemory) -> None:
    check_in_one_loop(make, memory, SLOW_ROUNDS)


def check_in_threads(make: Make, memory: SharedMemory, rounds: int) -> None:
    shared = make(MemoryPlugin(memory=memory))
    crossed = run_in_threads(shared.invoke, shared.models, rounds)
    crossed.writes, turns = asyncio.run(written(memory, rounds))
    report(make, rounds, crossed, turns)


def check_in_one_loop(make: Make, memory: SharedMemory, rounds: int) -> None:
    shared = make(MemoryPlugin(memory=memory))
    crossed = asyncio.run(run_in_one_loop(shared.invoke_async, shared.models, rounds))
    crossed.writes, turns = asyncio.run(written(memory, rounds))
    report(make, rounds, crossed, turns)


def report(make: Make, rounds: int, crossed: Any, turns: int) -> None:
    if os.environ.get("SHOW_ISOLATION"):
        print(
            f"{make.__name__}: {rounds} rounds, {crossed.answered} answered, {len(crossed.refused)} refused, "
            f"{len(crossed.prompts)} prompts crossed, {len(crossed.writes)} writes crossed, {turns} turns"
        )
    assert (crossed.prompts, crossed.writes) == ([], [])
    assert crossed.answered >= rounds
    assert turns >= crossed.answered * 2
