"""Real agents of Strands with a scripted model, on a real file."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from strands import Agent

from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin
from examples.scripted_model import Line, ScriptedModel
from mcp_memory_server import Memory, Settings

R = TypeVar("R")

MakeAgent = Callable[..., Agent]
Ask = Callable[[Callable[[Memory], Awaitable[R]]], R]


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="strands")  # it logs every failure of a tool with a traceback


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[SharedMemory]:
    shared = SharedMemory(Settings(table=f"sqlite://{tmp_path}/memory.db"))
    yield shared
    shared.close()


@pytest.fixture
def plugin(shared: SharedMemory) -> MemoryPlugin:
    return MemoryPlugin("ana", "s1", memory=shared)


@pytest.fixture
def ask(shared: SharedMemory) -> Callable[[Callable[[Memory], Awaitable[Any]]], Any]:
    """Ask the memory itself what it knows."""

    def ask_it(work: Callable[[Memory], Awaitable[Any]]) -> Any:
        async def asked() -> Any:
            return await work(await shared.get())

        return asyncio.run(asked())

    return ask_it


def agent_with(plugin: MemoryPlugin | None, *script: Line, **more: Any) -> Agent:
    return Agent(
        model=ScriptedModel(*script), plugins=None if plugin is None else [plugin], callback_handler=None, **more
    )


def model_of(agent: Agent) -> ScriptedModel:
    assert isinstance(agent.model, ScriptedModel)
    return agent.model
