"""Chats on a real file: one active with each agent, the others history, each found by its id."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.conversations.chat_lifecycle import Chat
from mcp_memory_server.domain.kernel.items import Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import ConflictError, InvalidRequestError, NotFoundError, TooLargeError
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema import keys
from mcp_memory_server.services.conversations.chats import Chats
from tests.clock import FakeClock
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio

BEN = Scope("ben")
HOUR = timedelta(hours=1)


async def past(memory: Memory, owner: Scope, agent: str = "travel") -> list[Chat]:
    return list((await memory.chats.past(owner, agent)).chats)


async def test_a_new_chat_is_the_active_one(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    chat = await memory.chats.create(anna, "travel", agent_version="1.2", title="  Rome ")

    assert (chat.agent, chat.agent_version, chat.title, chat.created_at) == ("travel", "1.2", "Rome", clock())
    assert await memory.chats.active(anna, "travel") == chat
    assert await past(memory, anna) == []


async def test_a_second_one_is_refused_while_the_first_is_active(memory: Memory, anna: Scope) -> None:
    chat = await memory.chats.create(anna, "travel")

    with pytest.raises(ConflictError, match="a chat with 'travel' is active; renew it, or delete it first"):
        await memory.chats.create(anna, "travel")

    assert await memory.chats.active(anna, "travel") == chat


async def test_each_user_and_each_agent_has_a_chat_of_its_own(memory: Memory, anna: Scope) -> None:
    mine = await memory.chats.create(anna, "travel")
    with_another = await memory.chats.create(anna, "travel#1")
    bens = await memory.chats.create(BEN, "travel")

    await memory.chats.delete(anna, "travel")

    assert len({mine.id, with_another.id, bens.id}) == 3
    assert await memory.chats.active(anna, "travel") is None
    assert await memory.chats.active(anna, "travel#1") == with_another
    assert await memory.chats.active(BEN, "travel") == bens


async def test_renewing_makes_the_active_one_history_and_begins_another(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    first = await memory.chats.create(anna, "travel", agent_version="1", title="Rome")
    clock.advance(HOUR)

    second = await memory.chats.renew(anna, "travel", agent_version="2")

    assert await memory.chats.active(anna, "travel") == second
    [over] = await past(memory, anna)
    assert (over.id, over.agent_version, over.title, over.deleted_at) == (first.id, "1", "Rome", clock())
    assert (second.agent_version, second.title, second.deleted_at) == ("2", None, None)


async def test_renewing_is_one_write(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    await memory.chats.create(anna, "travel")
    watched = WatchedTable(memory.table)

    await Chats(watched.as_table, clock).renew(anna, "travel")

    assert watched.calls == {"get": 1, "write": 1}


async def test_renewing_where_none_is_active_just_begins_one(memory: Memory, anna: Scope) -> None:
    chat = await memory.chats.renew(anna, "travel")

    assert await memory.chats.active(anna, "travel") == chat
    assert await past(memory, anna) == []


async def test_a_deleted_chat_stays_as_history_with_its_time(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    chat = await memory.chats.create(anna, "travel")
    clock.advance(HOUR)

    over = await memory.chats.delete(anna, "travel")

    assert (over.id, over.deleted_at) == (chat.id, clock())
    assert await memory.chats.active(anna, "travel") is None
    assert await past(memory, anna) == [over]


async def test_deleting_where_none_is_active_says_so(memory: Memory, anna: Scope) -> None:
    with pytest.raises(NotFoundError, match="no chat with 'travel' is active"):
        await memory.chats.delete(anna, "travel")

    await memory.chats.create(anna, "travel")
    await memory.chats.delete(anna, "travel")
    with pytest.raises(NotFoundError):
        await memory.chats.delete(anna, "travel")


async def test_past_chats_come_newest_first_page_by_page_even_when_the_clock_stands(
    memory: Memory, anna: Scope
) -> None:
    ids = [(await memory.chats.renew(anna, "travel")).id for _ in range(7)]
    await memory.chats.delete(anna, "travel")
    ids.append((await memory.chats.create(anna, "travel")).id)
    await memory.chats.renew(anna, "tra")

    first = await memory.chats.past(anna, "travel", limit=3)
    await memory.chats.renew(anna, "travel")  # what is added meanwhile does not disturb the pages
    second = await memory.chats.past(anna, "travel", limit=3, cursor=first.cursor)
    third = await memory.chats.past(anna, "travel", limit=3, cursor=second.cursor)

    assert [chat.id for page in (first, second, third) for chat in page.chats] == ids[6::-1]
    assert third.cursor is None


async def test_the_version_of_the_agent_is_set_by_the_id_of_the_chat(memory: Memory, anna: Scope) -> None:
    chat = await memory.chats.create(anna, "travel", title="Rome")
    await memory.chats.create(anna, "cook", agent_version="9")

    changed = await memory.chats.set_agent_version(anna, chat.id, "2.0")

    assert changed == await memory.chats.active(anna, "travel")
    assert (changed.id, changed.agent_version, changed.title) == (chat.id, "2.0", "Rome")
    cook = await memory.chats.active(anna, "cook")
    assert cook is not None
    assert cook.agent_version == "9"


async def test_the_version_is_history_once_the_chat_is(memory: Memory, anna: Scope) -> None:
    chat = await memory.chats.create(anna, "travel")
    await memory.chats.set_agent_version(anna, chat.id, "2.0")
    await memory.chats.renew(anna, "travel")

    with pytest.raises(NotFoundError, match=chat.id):
        await memory.chats.set_agent_version(anna, chat.id, "3.0")

    assert [over.agent_version for over in await past(memory, anna)] == ["2.0"]


@pytest.mark.parametrize("chat_id", ["", "nothing", "01JNB3X8M0ABCDEFGHJKMNPQRS", "#" * 2000])
async def test_the_version_of_no_chat_cannot_be_set(memory: Memory, anna: Scope, chat_id: str) -> None:
    with pytest.raises(NotFoundError, match="no active chat has the id"):
        await memory.chats.set_agent_version(anna, chat_id, "2.0")


async def test_nobody_finds_the_chat_of_another(memory: Memory, anna: Scope) -> None:
    chat = await memory.chats.create(anna, "travel")

    with pytest.raises(NotFoundError):
        await memory.chats.set_agent_version(BEN, chat.id, "evil")

    assert await memory.chats.active(anna, "travel") == chat


async def test_an_entry_of_the_index_that_leads_to_another_user_is_not_followed(memory: Memory, anna: Scope) -> None:
    chat = await memory.chats.create(anna, "travel")
    key = keys.active_chat_key(BEN, "travel")
    forged = {"id": chat.id, "ix_pk": keys.chat_index(anna, chat.id), "ix_sk": "CHAT"}
    await memory.table.put(Put(key, forged))

    await memory.chats.set_agent_version(anna, chat.id, "2.0")

    bens = await memory.table.get(key)
    assert bens is not None
    assert "agent_version" not in bens.body


async def test_what_a_later_release_stored_with_a_chat_survives(memory: Memory, anna: Scope) -> None:
    chat = await memory.chats.create(anna, "travel")
    place = await memory.table.get(keys.active_chat_key(anna, "travel"))
    assert place is not None
    await memory.table.put(Put(place.key, {**place.body, "mood": "good"}, expected_version=place.version))

    await memory.chats.set_agent_version(anna, chat.id, "2.0")
    await memory.chats.delete(anna, "travel")

    item = await memory.table.get(keys.past_chat_key(anna, "travel", chat.id))
    assert item is not None
    assert item.body["mood"] == "good"


async def test_wrong_names_are_refused(memory: Memory, anna: Scope) -> None:
    for agent in ("", " ", "x" * 129):
        with pytest.raises(InvalidRequestError, match="agent"):
            await memory.chats.create(anna, agent)
    with pytest.raises(TooLargeError, match="title"):
        await memory.chats.create(anna, "travel", title="x" * 600)
    chat = await memory.chats.create(anna, "travel")
    with pytest.raises(InvalidRequestError, match="agent_version"):
        await memory.chats.set_agent_version(anna, chat.id, " ")


@pytest.mark.parametrize("agent", ["a#b", "a/b", "%23", "#ACTIVE#", "🦊", "line\nbreak"])
async def test_an_agent_may_be_called_anything(memory: Memory, anna: Scope, agent: str) -> None:
    chat = await memory.chats.create(anna, agent)

    assert await memory.chats.active(anna, agent) == chat
    assert [(await memory.chats.delete(anna, agent)).id, agent] == [chat.id, (await past(memory, anna, agent))[0].agent]
