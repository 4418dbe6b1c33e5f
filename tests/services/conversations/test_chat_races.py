"""Chats under races and repetitions: exactly one is active, none is lost, and no write reaches the wrong one."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from mcp_memory_server.domain.conversations.chat_lifecycle import Chat
from mcp_memory_server.domain.kernel.items import KeyPage
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import ConflictError, NotFoundError
from mcp_memory_server.memory import Memory
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.services.conversations.chats import Chats
from tests.clock import FakeClock
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio

MANY = 12


async def active_id(memory: Memory, owner: Scope) -> str | None:
    chat = await memory.chats.active(owner, "travel")
    return None if chat is None else chat.id


async def past_ids(memory: Memory, owner: Scope) -> list[str]:
    return [chat.id for chat in (await memory.chats.past(owner, "travel", limit=100)).chats]


async def versions(memory: Memory, owner: Scope) -> dict[str, str | None]:
    chats = [*(await memory.chats.past(owner, "travel", limit=100)).chats, await memory.chats.active(owner, "travel")]
    return {chat.id: chat.agent_version for chat in chats if chat is not None}


@pytest.mark.parametrize("had_one_before", [False, True])
async def test_of_many_who_begin_a_chat_at_once_exactly_one_does(
    memory: Memory, other_process: Memory, anna: Scope, *, had_one_before: bool
) -> None:
    if had_one_before:
        await memory.chats.create(anna, "travel")
        await memory.chats.delete(anna, "travel")

    outcomes = await asyncio.gather(
        *(writer.chats.create(anna, "travel") for writer in (memory, other_process) * MANY), return_exceptions=True
    )

    begun = [outcome for outcome in outcomes if isinstance(outcome, Chat)]
    assert [chat.id for chat in begun] == [await active_id(memory, anna)]
    assert all(isinstance(outcome, Chat | ConflictError) for outcome in outcomes)


async def test_of_many_who_renew_at_once_each_does_and_no_chat_is_lost(
    memory: Memory, other_process: Memory, anna: Scope
) -> None:
    first = await memory.chats.create(anna, "travel")

    renewed = await asyncio.gather(*(writer.chats.renew(anna, "travel") for writer in (memory, other_process) * 4))

    stored = [await active_id(memory, anna), *await past_ids(memory, anna)]
    assert sorted(filter(None, stored)) == sorted([first.id, *(chat.id for chat in renewed)])
    assert stored == sorted(filter(None, stored), reverse=True)


async def test_a_version_set_while_the_chat_is_renewed_never_lands_on_another(
    memory: Memory, other_process: Memory, anna: Scope
) -> None:
    for number in range(MANY):
        chat = await memory.chats.renew(anna, "travel", agent_version="old")

        await asyncio.gather(
            memory.chats.set_agent_version(anna, chat.id, f"new {number}"),
            other_process.chats.renew(anna, "travel", agent_version="old"),
            return_exceptions=True,
        )

        others = {id_: version for id_, version in (await versions(memory, anna)).items() if id_ != chat.id}
        assert f"new {number}" not in others.values()


@pytest.mark.parametrize("step", ["get_many", "update"])
@pytest.mark.parametrize("way", ["renewed", "deleted and begun again", "deleted"])
async def test_a_chat_that_is_replaced_between_two_steps_keeps_the_version_off_its_successor(
    memory: Memory, anna: Scope, clock: FakeClock, step: str, way: str
) -> None:
    chat = await memory.chats.create(anna, "travel", agent_version="old")

    async def replace() -> None:
        if way == "renewed":
            await memory.chats.renew(anna, "travel", agent_version="old")
            return
        await memory.chats.delete(anna, "travel")
        if way != "deleted":
            await memory.chats.create(anna, "travel", agent_version="old")

    watched = WatchedTable(memory.table)
    watched.before[step] = replace

    with pytest.raises(NotFoundError):
        await Chats(watched.as_table, clock).set_agent_version(anna, chat.id, "new")

    assert set((await versions(memory, anna)).values()) == {"old"}


class BehindTable(WatchedTable):
    """The real table with an index that does not follow: it still answers what it answered at a chosen moment."""

    def __init__(self, table: ItemTable, listed: KeyPage) -> None:
        super().__init__(table)
        self._listed = listed

    async def find(self, *_: object, **__: object) -> KeyPage:
        return self._listed


async def test_a_chat_that_the_index_does_not_know_yet_is_found(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    chat = await memory.chats.create(anna, "travel")
    await memory.chats.create(anna, "cook")

    behind = BehindTable(memory.table, KeyPage(()))
    changed = await Chats(behind.as_table, clock).set_agent_version(anna, chat.id, "2.0")

    assert (changed.id, changed.agent_version) == (chat.id, "2.0")


async def test_an_index_that_still_knows_an_earlier_chat_leads_nobody_astray(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    earlier = await memory.chats.create(anna, "travel")
    listed = await memory.table.find(keys.chat_index(anna, earlier.id), limit=4)
    later = await memory.chats.renew(anna, "travel")
    chats = Chats(BehindTable(memory.table, listed).as_table, clock)

    with pytest.raises(NotFoundError):
        await chats.set_agent_version(anna, earlier.id, "2.0")
    changed = await chats.set_agent_version(anna, later.id, "3.0")

    assert await versions(memory, anna) == {earlier.id: None, later.id: "3.0"}
    assert changed.id == later.id


Step = Callable[[Chats, Scope], Awaitable[Chat]]
STEPS: dict[str, Step] = {
    "create": lambda chats, owner: chats.create(owner, "travel", operation_id="1"),
    "renew": lambda chats, owner: chats.renew(owner, "travel", operation_id="1"),
    "delete": lambda chats, owner: chats.delete(owner, "travel", operation_id="1"),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("in_between", [0, 1, 3])
async def test_a_repeated_operation_is_done_once_whatever_happened_since(
    memory: Memory, anna: Scope, step: str, in_between: int
) -> None:
    if step != "create":
        await memory.chats.create(anna, "travel")
    first = await STEPS[step](memory.chats, anna)
    for _ in range(in_between):
        await memory.chats.renew(anna, "travel")
    before = (await active_id(memory, anna), await past_ids(memory, anna))

    again = await STEPS[step](memory.chats, anna)

    assert again.id == first.id
    assert (await active_id(memory, anna), await past_ids(memory, anna)) == before


@pytest.mark.parametrize("step", STEPS)
async def test_an_operation_that_runs_many_times_at_once_is_done_once(
    memory: Memory, other_process: Memory, anna: Scope, step: str
) -> None:
    if step != "create":
        await memory.chats.create(anna, "travel")

    outcomes = await asyncio.gather(*(STEPS[step](writer.chats, anna) for writer in (memory, other_process) * 4))

    assert len({chat.id for chat in outcomes}) == 1
    assert len(await past_ids(memory, anna)) == (0 if step == "create" else 1)


async def test_a_repeated_version_is_set_once(memory: Memory, anna: Scope) -> None:
    chat = await memory.chats.create(anna, "travel")
    await memory.chats.set_agent_version(anna, chat.id, "1", operation_id="a")
    await memory.chats.set_agent_version(anna, chat.id, "2", operation_id="b")

    again = await memory.chats.set_agent_version(anna, chat.id, "1", operation_id="a")

    assert again.agent_version == "2"
