"""Chats of Agent Squad: every message is kept, in order, apart from those of others, and read from any thread."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from agent_squad.agents import SupervisorAgent
from agent_squad.types import ParticipantRole, TimestampedMessage

from agent_plugins.agent_squad import MemoryChatStorage
from agent_plugins.memory.shared_memory import SharedMemory
from mcp_memory_server import Scope, Settings
from mcp_memory_server.wiring import create_table
from tests.plugins.agent_squad.conftest import Ask, said, shown

WRITERS, MESSAGES = 4, 20


@pytest.fixture
def storage(shared: SharedMemory) -> MemoryChatStorage:
    return MemoryChatStorage(shared)


@pytest.fixture(params=["sqlite", "dynamodb-local"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    outbox = f"sqlite://{tmp_path}/outbox.db"
    if request.param == "sqlite":
        return Settings(table=f"sqlite://{tmp_path}/memory.db", outbox=outbox)
    endpoint = request.getfixturevalue("dynamodb_local_endpoint")
    settings = Settings(
        table=f"dynamodb://chats-{uuid4().hex}?region=eu-central-1&endpoint={endpoint}",
        outbox=outbox,
    )
    asyncio.run(create_table(settings, lambda _: None))
    return settings


def test_four_writers_of_twenty_messages_each_keep_eighty_in_order(table: Settings) -> None:
    """Each writer has a thread, an event loop and a memory of its own, as another process would."""

    async def write(writer: int, shared: SharedMemory) -> None:
        storage = MemoryChatStorage(shared)
        for number in range(MESSAGES):
            role = "user" if number % 2 == 0 else "assistant"
            assert await storage.save_chat_message("ana", "s1", "clerk", said(role, f"{writer}/{number}"))

    memories = [SharedMemory(table) for _ in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as threads:
        for done in [threads.submit(asyncio.run, write(n, memory)) for n, memory in enumerate(memories)]:
            done.result()
    reader = SharedMemory(table)

    async def kept() -> list[str]:
        memory = await reader.get()
        turns = (await memory.conversations.load(Scope("ana", "s1"), turns=200)).turns
        chat = await MemoryChatStorage(reader).fetch_chat("ana", "s1", "clerk")
        handed_out = [block["text"] for message in chat for block in message.content]
        everything = [turn.content for turn in turns]
        assert [text for text in everything if text in handed_out] == handed_out
        return everything

    texts = asyncio.run(kept())
    for memory in (*memories, reader):
        memory.close()
    assert len(texts) == len(set(texts)) == WRITERS * MESSAGES
    for writer in range(WRITERS):
        own = [text for text in texts if text.startswith(f"{writer}/")]
        assert own == [f"{writer}/{number}" for number in range(MESSAGES)]


async def _apart(storage: MemoryChatStorage, one: tuple[str, str, str], other: tuple[str, str, str]) -> list[int]:
    for user, session, agent in (one, other):
        await storage.save_chat_messages(user, session, agent, [said("user", "Hi"), said("assistant", "Hello")])
    return [len(await storage.fetch_chat(*ids)) for ids in (one, other)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ana", "s1", "a#b"), ("ana", "s1", "a")),
        (("ana#s1", "x", "clerk"), ("ana", "s1#x", "clerk")),
        (("ana", "s1#clerk", "clerk"), ("ana", "s1", "clerk#clerk")),
        (("ana", "s1", "clerk"), ("ana#", "s1", "clerk")),
        (("ana%23", "s1", "clerk"), ("ana#", "s1", "clerk")),
    ],
)
def test_ids_with_signs_that_join_keys_stay_apart(
    storage: MemoryChatStorage, one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    assert asyncio.run(_apart(storage, one, other)) == [2, 2]


def test_calls_of_tools_and_their_answers_are_kept(storage: MemoryChatStorage) -> None:
    use = said("assistant")
    use.content = [
        {"text": "Let me look."},
        {"toolUse": {"toolUseId": "t1", "name": "stock", "input": {"title": "Dune"}}},
    ]
    result = said("user")
    result.content = [{"toolResult": {"toolUseId": "t1", "content": [{"text": "3 copies"}]}}]
    chat = [said("user", "Do you have Dune?"), use, result, said("assistant", "Three.")]

    async def round_trip() -> list[Any]:
        await storage.save_chat_messages("ana", "s1", "clerk", chat)
        return await storage.fetch_chat("ana", "s1", "clerk")

    assert shown(asyncio.run(round_trip())) == shown(chat)


def test_messages_of_the_same_role_in_a_row_are_kept_and_handed_out_as_one(storage: MemoryChatStorage) -> None:
    async def odd() -> list[Any]:
        for message in (
            said("assistant", "Welcome."),
            said("user", "Hi."),
            said("user", "Anybody?"),
            said("assistant", "Yes."),
        ):
            await storage.save_chat_message("ana", "s1", "clerk", message)
        await storage.save_chat_message("ana", "s1", "clerk", said("user", "Nobody answered this."))
        return await storage.fetch_chat("ana", "s1", "clerk")

    assert shown(asyncio.run(odd())) == [
        ("user", [{"text": "Hi."}, {"text": "Anybody?"}]),
        ("assistant", [{"text": "Yes."}]),
    ]


def test_roles_may_be_the_frameworks_own_and_messages_may_have_a_time(storage: MemoryChatStorage) -> None:
    asked = TimestampedMessage(role=ParticipantRole.USER, content=[{"text": "Hi."}])

    async def round_trip() -> list[Any]:
        await storage.save_chat_messages("ana", "s1", "clerk", [asked, said(ParticipantRole.ASSISTANT, "Hello.")])
        return await storage.fetch_chat("ana", "s1", "clerk")

    assert [message.role for message in asyncio.run(round_trip())] == ["user", "assistant"]


def test_a_chat_with_one_agent_is_found_among_those_with_many_others(storage: MemoryChatStorage) -> None:
    async def crowd() -> list[Any]:
        await storage.save_chat_messages("ana", "s1", "rare", [said("user", "first"), said("assistant", "rare answer")])
        for number in range(150):
            await storage.save_chat_message(
                "ana", "s1", "busy", said("user" if number % 2 == 0 else "assistant", f"{number}")
            )
        return [await storage.fetch_chat("ana", "s1", "rare"), await storage.fetch_chat("ana", "s1", "busy", 10)]

    rare, busy = asyncio.run(crowd())
    assert shown(rare) == [("user", [{"text": "first"}]), ("assistant", [{"text": "rare answer"}])]
    assert [message.content[0]["text"] for message in busy] == [str(number) for number in range(140, 150)]


def test_all_chats_are_returned_as_text_with_the_agent_before_its_answer(storage: MemoryChatStorage) -> None:
    result = said("user")
    result.content = [{"toolResult": {"toolUseId": "t9", "content": [{"json": {"a": 1}}]}}]

    async def all_of_them() -> list[Any]:
        await storage.save_chat_messages(
            "ana", "s1", "orders", [said("user", "Order it."), said("assistant", "Ordered.")]
        )
        await storage.save_chat_message("ana", "s1", "orders", result)
        await storage.save_chat_messages("ana", "s1", "search", [said("user", "Find it."), said("assistant", "Found.")])
        return await storage.fetch_all_chats("ana", "s1")

    assert [message.content[0]["text"] for message in asyncio.run(all_of_them())] == [
        "Order it.",
        "[orders] Ordered.",
        "Find it.",
        "[search] Found.",
    ]


@pytest.mark.parametrize("length", range(1, 6))
def test_a_supervisor_can_read_histories_of_any_length(storage: MemoryChatStorage, length: int) -> None:
    """It takes messages two by two, and refuses a history that does not come out even."""

    async def odd() -> list[Any]:
        for number in range(length):
            await storage.save_chat_message(
                "ana", "s1", "clerk", said("user" if number % 2 else "assistant", f"{number}")
            )
        return await storage.fetch_all_chats("ana", "s1")

    supervisor = SupervisorAgent.__new__(SupervisorAgent)
    supervisor.id = "lead"

    assert supervisor._format_agents_memory(asyncio.run(odd())).count("assistant:") == (length - 1) // 2


def test_one_storage_is_used_from_loops_that_come_and_go(storage: MemoryChatStorage) -> None:
    def say(number: int) -> None:
        pair = [said("user", f"{number}?"), said("assistant", f"{number}.")]
        asyncio.run(storage.save_chat_messages("ana", f"s{number % 3}", "clerk", pair))

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(say, range(30)))

    chats = [asyncio.run(storage.fetch_chat("ana", f"s{number}", "clerk")) for number in range(3)]
    assert sum(len(message.content) for chat in chats for message in chat) <= 60
    assert all(asyncio.run(storage.fetch_all_chats("ana", f"s{number}")) for number in range(3))


def test_what_cannot_be_saved_now_does_not_end_a_request_and_is_saved_later(tmp_path: Path, ask: Ask) -> None:
    in_the_way, now = tmp_path / "folder", [0.0]
    in_the_way.write_text("a file where a folder is needed")
    shared = SharedMemory(Settings(table=f"sqlite://{in_the_way}/memory.db"), monotonic=lambda: now[0])
    storage = MemoryChatStorage(shared)

    async def through() -> tuple[bool, list[Any], bool, list[Any]]:
        first = await storage.save_chat_message("ana", "s1", "clerk", said("user", "Hi."))
        nothing = await storage.fetch_chat("ana", "s1", "clerk")
        in_the_way.unlink()
        now[0] += 60
        second = await storage.save_chat_message("ana", "s1", "clerk", said("assistant", "Hello."))
        return first, nothing, second, await storage.fetch_chat("ana", "s1", "clerk")

    first, nothing, second, chat = asyncio.run(through())
    shared.close()
    assert (first, nothing, second) == (False, [], True)
    assert [message.content[0]["text"] for message in chat] == ["Hi.", "Hello."]


def test_a_message_that_no_engine_can_store_is_kept_as_far_as_it_can_be(storage: MemoryChatStorage) -> None:
    async def hostile() -> list[Any]:
        assert await storage.save_chat_message("ana", "s1", "clerk", said("user", "half a \udc80 pair", "and more"))
        assert await storage.save_chat_message("ana", "s1", "clerk", said("assistant", "x" * 3_000_000))
        assert not await storage.save_chat_message("ana", "s1", "clerk", said("user", "y" * 5_000_000))
        return await storage.fetch_chat("ana", "s1", "clerk")

    chat = asyncio.run(hostile())
    assert chat[0].content == [{"text": "half a ? pair"}, {"text": "and more"}]
    assert len(chat[1].content[0]["text"]) == 3_000_000
