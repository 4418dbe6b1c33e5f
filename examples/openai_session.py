"""A session of the OpenAI Agents SDK that survives a restart, with a model that needs no network."""

import asyncio
import tempfile
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from agent_plugins.openai_agents import MemorySession
from mcp_memory_server import Settings


class CountingModel(Model):
    """Stands in for a real model: it says how many items it was sent."""

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **more: Any) -> ModelResponse:  # noqa: A002, ARG002
        text = ResponseOutputText(text=f"I see {len(input)} items.", type="output_text", annotations=[])
        message = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **more: Any) -> Any:
        raise NotImplementedError


async def main() -> None:
    agent, offline = Agent(name="clerk", model=CountingModel()), RunConfig(tracing_disabled=True)
    with tempfile.TemporaryDirectory() as folder:
        for day, words in (("monday:  ", "I am allergic to peanuts."), ("tuesday: ", "What must I not eat?")):
            session = MemorySession("ana", "chat-7", memory=Settings(table=f"sqlite://{folder}/memory.db"))
            print(day, (await Runner.run(agent, words, session=session, run_config=offline)).final_output)


if __name__ == "__main__":
    asyncio.run(main())
