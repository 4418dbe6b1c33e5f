"""A Pydantic AI agent that is given what fits the prompt, with a model that needs no network."""

import asyncio
import tempfile

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agent_plugins.pydantic_ai import MemoryCapability
from mcp_memory_server import Scope, Settings, Statement, open_memory


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001
    """Stand in for a real model: answer with what it was given."""
    return ModelResponse([TextPart(f"I was given this:\n{info.instructions}")])


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with open_memory(Settings(table=f"sqlite://{folder}/memory.db", embeddings="static")) as memory:
            peanuts = Statement("Ana is allergic to peanuts.", topic="health/allergies")
            await memory.facts.learn(Scope("ana"), peanuts)
            agent = Agent(FunctionModel(answer), capabilities=[MemoryCapability("ana", memory=memory, read_seconds=60)])
            print((await agent.run("What shall I cook tonight?")).output)


if __name__ == "__main__":
    asyncio.run(main())
