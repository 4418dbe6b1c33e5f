"""A real Agent Squad, with agents and a classifier that need no model, on a real file."""

import asyncio
import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_squad.agents import Agent, AgentOptions, AgentStreamResponse
from agent_squad.classifiers import Classifier, ClassifierResult
from agent_squad.types import ConversationMessage

from agent_plugins.memory.shared_memory import SharedMemory
from mcp_memory_server import Memory, Settings

Answer = Callable[[str], str | Awaitable[str]]
Ask = Callable[[Callable[[Memory], Awaitable[Any]]], Any]


@pytest.fixture(scope="session", autouse=True)
def _own_log_level() -> None:
    logging.getLogger().setLevel(logging.WARNING)  # importing Agent Squad has set it to INFO, for everybody
    logging.getLogger("agent_squad").setLevel(logging.CRITICAL)


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[SharedMemory]:
    shared = SharedMemory(Settings(table=f"sqlite://{tmp_path}/memory.db"))
    yield shared
    shared.close()


@pytest.fixture
def ask(shared: SharedMemory) -> Ask:
    """Ask the memory itself what it knows."""

    def ask_it(work: Callable[[Memory], Awaitable[Any]]) -> Any:
        async def asked() -> Any:
            return await work(await shared.get())

        return asyncio.run(asked())

    return ask_it


class Clerk(Agent):
    """Answers with what a function makes of its input, and remembers what it was sent."""

    def __init__(self, name: str, answer: Answer, *, streams: bool = False) -> None:
        super().__init__(AgentOptions(name=name, description=f"Knows about {name}"))
        self._answer = answer
        self._streams = streams
        self.inputs: list[str] = []
        self.histories: list[list[ConversationMessage]] = []

    def is_streaming_enabled(self) -> bool:
        return self._streams

    async def process_request(
        self,
        input_text: str,
        user_id: str,  # noqa: ARG002 - the names are those of Agent Squad
        session_id: str,  # noqa: ARG002
        chat_history: list[ConversationMessage],
        additional_params: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> Any:
        self.inputs.append(input_text)
        self.histories.append(chat_history)
        if self._streams:
            return self._streamed(input_text)
        return said("assistant", await self._answered(input_text))

    async def _streamed(self, input_text: str) -> AsyncIterable[AgentStreamResponse]:
        yield AgentStreamResponse(text="…")
        yield AgentStreamResponse(final_message=said("assistant", await self._answered(input_text)))

    async def _answered(self, input_text: str) -> str:
        answer = self._answer(input_text)
        return answer if isinstance(answer, str) else await answer


class ByName(Classifier):
    """Chooses the agent whose id the user names."""

    async def process_request(self, input_text: str, chat_history: list[ConversationMessage]) -> ClassifierResult:  # noqa: ARG002
        named = [agent for agent in self.agents.values() if agent.id in input_text]
        return ClassifierResult(selected_agent=named[0] if named else None, confidence=0.9 if named else 0.0)


def said(role: Any, *texts: str) -> ConversationMessage:
    return ConversationMessage(role=role, content=[{"text": text} for text in texts])


def shown(messages: list[ConversationMessage]) -> list[tuple[Any, Any]]:
    """Return messages in a form that can be compared."""
    return [(message.role, message.content) for message in messages]
