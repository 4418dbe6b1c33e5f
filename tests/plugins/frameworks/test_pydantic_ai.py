"""The capability for Pydantic AI adds what fits the prompt, offers the five tools, and stores what was said."""

from dataclasses import dataclass

import pytest
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agent_plugins.pydantic_ai import MemoryCapability
from mcp_memory_server import Scope, Settings, Statement, open_memory
from tests.server.asking import FIVE_TOOLS

pytestmark = pytest.mark.anyio

ANA = Scope("ana")


def instructed(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Answer with the instructions that the model got."""
    return ModelResponse([TextPart(info.instructions or "No instructions.")])


def remembering(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Save a fact, then say so."""
    if len(messages) == 1:
        return ModelResponse([ToolCallPart("remember_fact", {"fact": "Ana plays the oboe."})])
    return ModelResponse([TextPart("Saved.")])


async def test_a_run_gets_what_is_known_and_is_remembered(settings: Settings) -> None:
    async with open_memory(settings) as memory:
        await memory.facts.learn(ANA, Statement("Ana is allergic to peanuts.", topic="health/allergies"))
        agent = Agent(FunctionModel(instructed), capabilities=[MemoryCapability("ana", memory=memory, read_seconds=60)])

        done = await agent.run("What can I cook tonight?")
        found = await memory.recall.search(ANA, "What did I ask about cooking?")

    assert "Ana is allergic to peanuts." in done.output
    assert done.output.startswith("<memory")
    assert "What can I cook tonight?" in [one.text for one in found.memories]


async def test_a_model_sees_the_five_tools_and_uses_them(settings: Settings) -> None:
    seen: list[str] = []

    def listing(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.extend(tool.name for tool in info.function_tools)
        return remembering(messages, info)

    async with open_memory(settings) as memory:
        agent = Agent(FunctionModel(listing), capabilities=[MemoryCapability("ana", memory=memory, read_seconds=60)])
        await agent.run("I play the oboe.")
        facts = [fact.text for fact in await memory.facts.all(ANA)]

    assert seen[:5] == FIVE_TOOLS
    assert facts == ["Ana plays the oboe."]


@dataclass
class Caller:
    """Who calls the agent."""

    user_id: str


async def test_one_agent_serves_many_users_and_keeps_them_apart(settings: Settings) -> None:
    async with open_memory(settings) as memory:
        await memory.facts.learn(ANA, Statement("Ana is allergic to peanuts.", topic="health/allergies"))
        capability = MemoryCapability(lambda ctx: ctx.deps.user_id, memory=memory, read_seconds=60)
        agent = Agent(FunctionModel(instructed), deps_type=Caller, capabilities=[capability])

        for_ana = await agent.run("What can I eat?", deps=Caller("ana"))
        for_bo = await agent.run("What can I eat?", deps=Caller("bo"))

    assert "peanuts" in for_ana.output
    assert "peanuts" not in for_bo.output


async def test_a_memory_that_cannot_be_opened_does_not_stop_a_run() -> None:
    broken = Settings(table="sqlite:///proc/none/memory.db", embeddings="none")
    agent = Agent(FunctionModel(instructed), capabilities=[MemoryCapability("ana", memory=broken)])

    done = await agent.run("What can I eat?")

    assert 'status="unavailable"' in done.output
