"""Users who speak at the same moment to one squad: none of them meets another's words."""

import asyncio
import logging
import re
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_squad.agents import (
    Agent,
    BedrockLLMAgent,
    BedrockLLMAgentOptions,
    StrandsAgent,
    SupervisorAgent,
    SupervisorAgentOptions,
)
from agent_squad.agents.agent import AgentOptions
from agent_squad.types import ConversationMessage
from strands import Agent as Strands

from agent_plugins.agent_squad import MemoryChatStorage, MemorySquad
from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin
from examples.scripted_bedrock import ScriptedBedrock
from examples.scripted_model import ScriptedModel
from mcp_memory_server import Settings
from tests.plugins.agent_squad.conftest import ByName, Clerk
from tests.plugins.isolation.rounds import PIN, SlowModel, echo, find_crossed_writes, run_in_one_loop, run_in_threads

QUICK_ROUNDS = 4
SLOW_ROUNDS = 200

Prompts = list[str]
Make = Callable[[SharedMemory], tuple[MemorySquad, Prompts]]


@pytest.fixture(autouse=True)
def _quiet() -> None:
    logging.getLogger("agent_squad").setLevel(logging.CRITICAL)
    logging.getLogger("agent_squad.utils.logger").setLevel(logging.CRITICAL)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[SharedMemory]:
    shared = SharedMemory(Settings(table=f"sqlite://{tmp_path}/memory.db"))
    yield shared
    shared.close()


def pins(text: str) -> str:
    return "I heard " + " ".join(match.group() for match in PIN.finditer(text))


class Only(ByName):
    """Chooses the only agent there is."""

    async def process_request(self, input_text: str, chat_history: list[ConversationMessage]) -> Any:
        return await super().process_request(f"{input_text} {next(iter(self.agents))}", chat_history)


class KeepingBedrock(ScriptedBedrock):
    """Keeps the whole of what it was sent, the system prompt too, and takes a moment to answer."""

    def __init__(self, prompts: Prompts, *script: Any) -> None:
        super().__init__(*script)
        self._prompts = prompts

    def converse(self, messages: list[Any], **more: Any) -> dict[str, Any]:
        self._prompts.append(f"{messages} {more.get('system')}")
        threading.Event().wait(0.001)
        last = messages[-1]["content"]
        if "toolResult" in last[0]:
            return super().converse([{"role": "user", "content": [{"text": pins(str(last))}]}], **more)
        return super().converse(messages, **more)


async def slowly(text: str) -> str:
    await asyncio.sleep(0.002)
    return pins(text)


def a_clerk(shared: SharedMemory) -> tuple[MemorySquad, Prompts]:
    squad = MemorySquad(classifier=Only(), memory=shared)
    clerk = Clerk("clerk", slowly)
    squad.add_agent(clerk)
    return squad, clerk.inputs


def a_streaming_clerk(shared: SharedMemory) -> tuple[MemorySquad, Prompts]:
    squad = MemorySquad(classifier=Only(), memory=shared)
    clerk = Clerk("clerk", slowly, streams=True)
    squad.add_agent(clerk)
    return squad, clerk.inputs


def a_supervisor(shared: SharedMemory) -> tuple[MemorySquad, Prompts]:
    prompts: Prompts = []

    def ask_team(seen: str) -> Any:
        if seen.startswith("I heard"):
            return seen
        names = ("orders", "parcels")
        return "send_messages", {"messages": [{"recipient": name, "content": pins(seen)} for name in names]}

    lead = BedrockLLMAgent(
        BedrockLLMAgentOptions(name="lead", description="Leads.", client=KeepingBedrock(prompts, ask_team))
    )
    team: list[Agent] = [Clerk("orders", slowly), Clerk("parcels", slowly)]
    for clerk in team:
        assert isinstance(clerk, Clerk)
        clerk.inputs = prompts
    squad = MemorySquad(classifier=Only(), memory=shared)
    squad.add_agent(
        SupervisorAgent(
            SupervisorAgentOptions(
                name="lead", description="Leads.", lead_agent=lead, team=team, storage=MemoryChatStorage(shared)
            )
        )
    )
    return squad, prompts


class Recorded(ScriptedModel):
    """Keeps what it was sent as text, in a list that others read."""

    def __init__(self, prompts: Prompts, *, streams: bool) -> None:
        super().__init__(echo)
        self._slow = SlowModel(echo)
        self._prompts = prompts
        self._streams = streams

    def get_config(self) -> dict[str, Any]:
        return {"streaming": self._streams}

    async def stream(self, messages: Any, *arguments: Any, **more: Any) -> AsyncGenerator[Any, None]:
        self._prompts.append(str(messages))
        async for event in self._slow.stream(messages, *arguments, **more):
            yield event


def strands_squad(shared: SharedMemory, *, streams: bool, with_plugin: bool) -> tuple[MemorySquad, Prompts]:
    prompts: Prompts = []
    agent = StrandsAgent(
        AgentOptions(name="strands", description="Of Strands."),
        model=Recorded(prompts, streams=streams),
        load_tools_from_directory=False,
        callback_handler=None,
    )
    if with_plugin:
        assert isinstance(agent.strands_agent, Strands)
        MemoryPlugin(memory=shared).attach(agent.strands_agent)
    squad = MemorySquad(classifier=Only(), memory=shared)
    squad.add_agent(agent)
    return squad, prompts


def a_strands_agent(shared: SharedMemory) -> tuple[MemorySquad, Prompts]:
    return strands_squad(shared, streams=False, with_plugin=False)


def a_streaming_strands_agent(shared: SharedMemory) -> tuple[MemorySquad, Prompts]:
    return strands_squad(shared, streams=True, with_plugin=False)


def a_strands_agent_with_the_plugin(shared: SharedMemory) -> tuple[MemorySquad, Prompts]:
    return strands_squad(shared, streams=True, with_plugin=True)


MAKERS: list[Make] = [
    a_clerk,
    a_streaming_clerk,
    a_supervisor,
    a_strands_agent,
    a_streaming_strands_agent,
    a_strands_agent_with_the_plugin,
]


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def make(request: pytest.FixtureRequest) -> Make:
    return request.param


async def ask_squad(squad: MemorySquad, words: str, user: str, session: str) -> str:
    response = await squad.route_request(words, user, session)
    assert isinstance(response.output, ConversationMessage)
    text = response.output.content[0]["text"]
    expected = re.findall(r"pin-\S+\d", words)
    if set(re.findall(r"pin-\S+\d", text)) != set(expected):
        raise AssertionError(f"{user} asked {words!r} and was told {text!r}")
    return text


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
    squad, prompts = make(memory)
    crossed = run_in_threads(lambda *asked: asyncio.run(ask_squad(squad, *asked)), [], rounds)
    check(crossed, prompts, memory, rounds)


def check_in_one_loop(make: Make, memory: SharedMemory, rounds: int) -> None:
    squad, prompts = make(memory)
    crossed = asyncio.run(run_in_one_loop(lambda *asked: ask_squad(squad, *asked), [], rounds))
    check(crossed, prompts, memory, rounds)


def check(crossed: Any, prompts: Prompts, memory: SharedMemory, rounds: int) -> None:
    async def written() -> tuple[list[str], int]:
        return await find_crossed_writes(await memory.get(), rounds)

    crossed.writes, turns = asyncio.run(written())
    crossed.prompts = [text for text in prompts if len(set(PIN.findall(text))) > 1]
    print(
        f"{rounds} rounds, {crossed.answered} answered, {len(crossed.refused)} refused, {len(prompts)} prompts, "
        f"{len(crossed.prompts)} crossed, {turns} turns, {len(crossed.writes)} crossed"
    )
    assert (crossed.prompts, crossed.writes, crossed.refused) == ([], [], [])
    assert turns >= crossed.answered * 2
