"""Chats beside memories: they can be taken along, and are never taken for something that is known."""

import json
from pathlib import Path

import pytest

from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import InvalidRequestError, NotFoundError
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema import keys
from mcp_memory_server.services.users.archive import Imported
from tests.services.conftest import OpenMemory

pytestmark = pytest.mark.anyio

BEN = Scope("ben#/ø")


async def exported(memory: Memory, owner: Scope) -> list[str]:
    return [line async for line in memory.archive.export(owner)]


async def test_chats_are_exported_and_imported_under_their_new_owner(
    memory: Memory, anna: Scope, open_file: OpenMemory, tmp_path: Path
) -> None:
    await memory.chats.create(anna, "travel#1", title="Rome")
    active = await memory.chats.renew(anna, "travel#1", agent_version="2")
    await memory.chats.create(anna, "cook")
    await memory.chats.delete(anna, "cook")
    elsewhere = await open_file(tmp_path / "elsewhere.db")

    lines = await exported(memory, anna)
    done = await elsewhere.archive.import_(BEN, lines)
    again = await elsewhere.archive.import_(BEN, lines)

    assert (done, again) == (Imported(3, 0, 0), Imported(0, 3, 0))
    assert await elsewhere.chats.active(BEN, "travel#1") == active
    assert await elsewhere.chats.past(BEN, "travel#1") == await memory.chats.past(anna, "travel#1")
    assert await elsewhere.chats.past(BEN, "cook") == await memory.chats.past(anna, "cook")
    assert (await exported(elsewhere, BEN))[1:] == lines[1:]


async def test_an_imported_chat_is_found_by_its_id_and_can_be_renewed(
    memory: Memory, anna: Scope, open_file: OpenMemory, tmp_path: Path
) -> None:
    chat = await memory.chats.create(anna, "travel")
    elsewhere = await open_file(tmp_path / "elsewhere.db")
    await elsewhere.archive.import_(BEN, await exported(memory, anna))

    changed = await elsewhere.chats.set_agent_version(BEN, chat.id, "2")
    await elsewhere.chats.renew(BEN, "travel")

    assert changed.id == chat.id
    assert [over.id for over in (await elsewhere.chats.past(BEN, "travel")).chats] == [chat.id]
    with pytest.raises(NotFoundError):
        await elsewhere.chats.set_agent_version(anna, chat.id, "3")


async def test_a_chat_that_is_imported_as_past_while_it_is_active_can_still_be_ended(
    memory: Memory, anna: Scope
) -> None:
    chat = await memory.chats.create(anna, "travel")
    line = {"kind": "past_chat", "key": f"travel#{chat.id}", "memory": {"title": "old"}}
    await memory.archive.import_(anna, [json.dumps(line)])

    over = await memory.chats.delete(anna, "travel")

    assert over.id == chat.id
    assert [chat.id for chat in (await memory.chats.past(anna, "travel")).chats] == [chat.id]


async def test_no_line_gets_a_place_in_the_index_of_its_own_choice(memory: Memory, anna: Scope) -> None:
    chat = await memory.chats.create(BEN, "travel")
    forged = {"ix_pk": keys.chat_index(BEN, chat.id), "ix_sk": "CHAT"}
    lines = [
        {"kind": "fact", "key": "x", "memory": {"text": "hello", "topic": "x", **forged}},
        {"kind": "active_chat", "key": "travel", "memory": {"id": chat.id, **forged}},
    ]

    await memory.archive.import_(anna, [json.dumps(line) for line in lines])

    found = await memory.table.find(keys.chat_index(BEN, chat.id), limit=10)
    assert found.keys == (keys.active_chat_key(BEN, "travel"),)


@pytest.mark.parametrize("memory_of_line", [{}, {"id": "no id"}, {"id": 7}])
async def test_a_line_that_holds_no_chat_is_refused(memory: Memory, anna: Scope, memory_of_line: object) -> None:
    line = json.dumps({"kind": "active_chat", "key": "travel", "memory": memory_of_line})

    with pytest.raises(InvalidRequestError, match="line 1"):
        await memory.archive.import_(anna, [line])


async def test_chats_are_nothing_that_is_known(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Likes tea"))
    await memory.chats.create(anna, "travel", title="Tea in Rome")
    await memory.chats.renew(anna, "travel")

    assert [fact.text for fact in await memory.facts.all(anna)] == ["Likes tea"]
    assert await memory.preferences.all(anna) == []
    assert await memory.notes.all(anna) == []
