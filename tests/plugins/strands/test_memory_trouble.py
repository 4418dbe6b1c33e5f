"""A memory that is down, hangs, or comes back: the agent answers, and the model knows what it could not know."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_plugins.memory.agent_memory import AgentMemory
from agent_plugins.memory.shared_memory import RETRY_SECONDS, SharedMemory
from agent_plugins.strands import MemoryPlugin
from examples.scripted_model import call
from mcp_memory_server import NewTurn, Role, Scope, Settings, UnavailableError
from tests.plugins.strands.conftest import agent_with, model_of

ANA = Scope("ana", "s1")


def nobody_listens() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def table_is_down(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedMemory]:
    """A table that nobody answers for, with the files of a real deployment beside it."""
    folder = tmp_path_factory.mktemp("down")
    shared = SharedMemory(
        Settings(
            table=f"dynamodb://memory?region=eu-central-1&endpoint=http://127.0.0.1:{nobody_listens()}",
            outbox=f"sqlite://{folder}/outbox.db",
        )
    )
    yield shared
    shared.close()


def test_with_the_table_down_for_the_whole_run_the_agent_answers_and_says_what_it_could_not_know(
    table_is_down: SharedMemory,
) -> None:
    agent = agent_with(
        MemoryPlugin("ana", "s1", memory=table_is_down),
        lambda seen: "I could not look up " + seen.line("what is known about the user:"),
        call("recall", query="Where does Ana live?"),
        lambda seen: seen.text,
    )

    first, second = str(agent("Where do I live?")), str(agent("Look again."))

    assert first.startswith("I could not look up what is known about the user")
    assert 'status="unavailable"' in model_of(agent).seen[0].text
    assert "not the same as nothing being known" in model_of(agent).seen[0].text
    assert '"status": "unavailable"' in second
    assert [message["role"] for message in agent.messages] == ["user", "assistant"] * 3


def test_messages_added_while_the_table_is_down_wait_in_the_outbox(table_is_down: SharedMemory) -> None:
    async def waiting() -> int:
        return (await (await table_is_down.get()).redrive.waiting()).turns

    before = asyncio.run(waiting())
    agent_with(MemoryPlugin("ben", "s1", memory=table_is_down), "Noted.")("Remember me.")

    assert asyncio.run(waiting()) == before + 2


def test_a_memory_that_cannot_be_opened_is_reported_and_messages_are_saved_when_it_can(tmp_path: Path) -> None:
    in_the_way, now = tmp_path / "folder", [0.0]
    in_the_way.write_text("a file where a folder is needed")
    shared = SharedMemory(Settings(table=f"sqlite://{in_the_way}/memory.db"), monotonic=lambda: now[0])
    agent = agent_with(MemoryPlugin("ana", "s1", memory=shared), "One.", "Two.", "Three.")

    agent("first")
    agent("second")
    in_the_way.unlink()
    now[0] += RETRY_SECONDS
    agent("third")

    async def kept() -> list[str]:
        return [turn.content for turn in (await (await shared.get()).conversations.load(ANA)).turns]

    assert "messages of this conversation could not be saved yet" in model_of(agent).seen[1].text
    assert asyncio.run(kept()) == ["first", "One.", "second", "Two.", "third", "Three."]
    shared.close()


def test_a_memory_that_hangs_costs_its_timeout_a_few_times_and_is_then_not_called(shared: SharedMemory) -> None:
    memory = AgentMemory(shared, read_seconds=0.05)
    asked: list[int] = []

    async def hang(_: Any) -> None:
        asked.append(1)
        await asyncio.Event().wait()

    async def many() -> list[str]:
        await shared.get()
        return [await _refused(memory, hang) for _ in range(10)]

    answers = asyncio.run(many())

    assert len(asked) == 2
    assert "did not answer in time" in answers[0]
    assert "not called" in answers[-1]


async def _refused(memory: AgentMemory, work: Any) -> str:
    try:
        await memory.ask(work)
    except UnavailableError as error:
        return str(error)
    return ""


def test_a_message_that_can_never_be_saved_keeps_no_other_from_it(shared: SharedMemory) -> None:
    memory = AgentMemory(shared).turns

    async def save() -> list[str]:
        await memory.append(ANA, NewTurn(Role.USER, "first"), "operation-1")
        await memory.append(ANA, NewTurn(Role.USER, "never"), "o" * 500)  # an operation id that no row can hold
        await memory.append(ANA, NewTurn(Role.USER, "second"), "operation-2")
        return [turn.content for turn in (await (await shared.get()).conversations.load(ANA)).turns]

    assert asyncio.run(save()) == ["first", "second"]
    assert memory.unsaved(ANA) == 0
