"""Strands' own memory manager and session manager, over the same table."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from strands import Agent
from strands.memory import MemoryManager
from strands.session.snapshot_session_manager import SnapshotSessionManager
from strands.storage import Storage
from strands.types.exceptions import StorageError

from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin, MemoryStore, SessionStorage
from examples.scripted_model import ScriptedModel, call
from mcp_memory_server import Scope, Settings, Statement
from tests.plugins.strands.conftest import Ask, model_of

ANA = Scope("ana")


def managed(shared: SharedMemory, *script: Any) -> Agent:
    manager = MemoryManager(stores=[MemoryStore("ana", memory=shared)], add_tool_config=True)
    return Agent(model=ScriptedModel(*script), memory_manager=manager, callback_handler=None)


def test_the_memory_manager_finds_what_is_known_and_puts_it_before_the_model(
    shared: SharedMemory, ask: Ask[Any]
) -> None:
    ask(lambda memory: memory.facts.learn(ANA, Statement("Ana lives in Lisbon.", topic="personal/location/city")))
    agent = managed(shared, call("search_memory", query="Where does Ana live?"), lambda seen: seen.text)

    answer = str(agent("Where do I live?"))

    assert "Ana lives in Lisbon." in model_of(agent).seen[0].text
    assert "personal/location/city" in answer


def test_what_the_memory_manager_adds_is_a_fact(shared: SharedMemory, ask: Ask[Any]) -> None:
    agent = managed(shared, call("add_memory", entries=["Ana plays the cello."]), "Noted.")
    agent("I play the cello.")
    agent_again = managed(shared, call("add_memory", entries=["Ana plays the cello."]), "Noted.")
    agent_again("I play the cello.")

    facts = ask(lambda memory: memory.facts.all(ANA))
    assert [(fact.text, fact.support) for fact in facts] == [("Ana plays the cello.", 2)]


def session(shared: SharedMemory, user: str = "ana", **more: Any) -> SnapshotSessionManager:
    return SnapshotSessionManager("chat-7", storage=SessionStorage(user, memory=shared), **more)


def test_a_session_of_strands_goes_on_in_another_agent(shared: SharedMemory) -> None:
    first = Agent(model=ScriptedModel("Hello Ana."), session_manager=session(shared), callback_handler=None)
    first("I am Ana.")

    second = Agent(model=ScriptedModel("Hello again."), session_manager=session(shared), callback_handler=None)

    assert [message["content"] for message in second.messages] == [[{"text": "I am Ana."}], [{"text": "Hello Ana."}]]


def test_a_session_larger_than_an_item_of_dynamodb_is_kept_whole(shared: SharedMemory) -> None:
    book = "".join(f"{number * 7919 % 10007:x}" for number in range(400_000))
    first = Agent(model=ScriptedModel("Read."), session_manager=session(shared), callback_handler=None)
    first(book)

    second = Agent(model=ScriptedModel("?"), session_manager=session(shared), callback_handler=None)

    assert len(book) > 1_000_000
    assert second.messages[0]["content"] == [{"text": book}]


def test_a_session_belongs_to_its_user_and_goes_with_it(shared: SharedMemory, ask: Ask[Any]) -> None:
    Agent(model=ScriptedModel("Hello."), session_manager=session(shared), callback_handler=None)(
        "My secret is bluebird."
    )

    bens = Agent(model=ScriptedModel("?"), session_manager=session(shared, "ben"), callback_handler=None)
    ask(lambda memory: memory.erasure.forget_user(ANA))
    anas = Agent(model=ScriptedModel("?"), session_manager=session(shared), callback_handler=None)

    assert (bens.messages, anas.messages) == ([], [])


def test_a_session_can_be_taken_back_to_a_checkpoint_and_deleted(shared: SharedMemory) -> None:
    manager = session(shared)
    agent = Agent(model=ScriptedModel("One.", "Two."), session_manager=manager, callback_handler=None)

    async def back() -> tuple[int, list[str]]:
        await agent.invoke_async("first")
        snapshot = await manager.save_snapshot(agent, is_latest=False)
        await agent.invoke_async("second")
        await manager.restore_snapshot(agent, snapshot_id=snapshot)
        length = len(agent.messages)
        await manager.delete_session()
        return length, await SessionStorage("ana", memory=shared).list("")

    assert asyncio.run(back()) == (2, [])


def test_the_plugin_and_a_session_manager_live_in_one_agent(shared: SharedMemory) -> None:
    plugin = MemoryPlugin("ana", "chat-7", memory=shared)
    model = ScriptedModel(call("set_preference", key="tone", value="brief"), "Noted.")
    Agent(model=model, plugins=[plugin], session_manager=session(shared), callback_handler=None)("Be brief.")

    again = Agent(
        model=ScriptedModel(lambda seen: seen.text),
        plugins=[plugin],
        session_manager=session(shared),
        callback_handler=None,
    )
    answer = str(again("Well?"))

    assert "tone: brief" in answer
    assert "## Earlier" not in answer  # its own history has it
    assert "<memory" not in str(again.messages[:-1])


def test_the_storage_is_one_of_strands_and_raises_when_it_cannot_be_reached(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    storage = SessionStorage("ana", memory=Settings(table=f"sqlite://{tmp_path}/file/memory.db"))

    assert isinstance(storage, Storage)
    with pytest.raises(StorageError, match="cannot use"):
        asyncio.run(storage.read("session/x"))
