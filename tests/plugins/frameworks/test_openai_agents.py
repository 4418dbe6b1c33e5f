"""The session for the OpenAI Agents SDK is one for its runner, returns items as they were, and shares what was said."""

import asyncio
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, SQLiteSession, Usage
from agents.memory import Session
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from agent_plugins.openai_agents import MemorySession
from mcp_memory_server import Scope, Settings, open_memory

pytestmark = pytest.mark.anyio

ITEMS: list[Any] = [
    {"role": "user", "content": "I am allergic to peanuts."},
    {"type": "function_call", "call_id": "c1", "name": "lookup", "arguments": '{"food": "peanuts"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "found"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "I will keep that in mind."}]},
]


class ScriptedModel(Model):
    """A model that answers with how many items it was sent."""

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **more: Any) -> ModelResponse:  # noqa: A002, ARG002
        text = ResponseOutputText(text=f"I was sent {len(input)} items.", type="output_text", annotations=[])
        message = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **more: Any) -> Any:
        raise NotImplementedError


async def test_it_behaves_like_the_session_of_the_sdk(settings: Settings) -> None:
    ours, theirs = MemorySession("ana", "chat", memory=settings), SQLiteSession("chat")
    seen: list[list[Any]] = []
    for session in (ours, theirs):
        await session.add_items(ITEMS)
        steps: list[Any] = [await session.get_items(), await session.get_items(2), await session.pop_item()]
        steps += [await session.get_items(), await session.clear_session(), await session.get_items()]
        steps += [await session.pop_item()]
        seen.append(steps)
    theirs.close()

    assert isinstance(ours, Session)
    assert seen[0] == seen[1]


async def test_the_runner_continues_a_conversation(settings: Settings) -> None:
    agent, config = Agent(name="clerk", model=ScriptedModel()), RunConfig(tracing_disabled=True)

    for expected in ("I was sent 1 items.", "I was sent 3 items."):
        session = MemorySession("ana", "chat", memory=settings)
        done = await Runner.run(agent, "I am allergic to peanuts.", session=session, run_config=config)
        assert done.final_output == expected


async def test_two_that_append_at_the_same_time_lose_nothing(settings: Settings) -> None:
    sessions = [MemorySession("ana", "chat", memory=settings) for _ in range(4)]

    turns: list[list[Any]] = [[{"role": "user", "content": f"Turn {number}."}] for number in range(4)]
    await asyncio.gather(*(one.add_items(turn) for one, turn in zip(sessions, turns, strict=True)))

    assert len(await sessions[0].get_items()) == 4


async def test_a_session_belongs_to_its_user(settings: Settings) -> None:
    await MemorySession("ana", "chat", memory=settings).add_items(ITEMS)

    assert await MemorySession("bo", "chat", memory=settings).get_items() == []
    assert await MemorySession("ana", "chat-2", memory=settings).get_items() == []


async def test_what_was_said_is_recalled(settings: Settings) -> None:
    async with open_memory(settings) as memory:
        await MemorySession("ana", "chat", memory=memory).add_items(ITEMS)
        found = await memory.recall.search(Scope("ana"), "What must she not eat?")

    assert "I am allergic to peanuts." in [one.text for one in found.memories]
