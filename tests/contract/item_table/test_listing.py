"""An operator can list the keys of the whole table."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.ports.item_table import ItemTable
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

KEYS = [Key(pk, sk) for pk in ("USER#ana", "USER#bo", "SESSION#ana#s1") for sk in ("A", "B", "C")]


async def listed(table: ItemTable, limit: int) -> list[Key]:
    found: list[Key] = []
    cursor: str | None = None
    while True:
        page = await table.list_keys(limit=limit, cursor=cursor)
        assert len(page.keys) <= limit
        found += page.keys
        if (cursor := page.cursor) is None:
            return found


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_every_key_of_every_partition_is_listed_once(item_table: ItemTable, limit: int) -> None:
    for key in KEYS:
        await item_table.put(Put(key, {"text": "x"}))

    assert sorted(await listed(item_table, limit)) == sorted(KEYS)


async def test_an_empty_table_has_no_keys(item_table: ItemTable) -> None:
    assert await listed(item_table, 10) == []


async def test_what_has_expired_is_not_listed(item_table: ItemTable, clock: FakeClock) -> None:
    await item_table.put(Put(KEYS[0], {}, expires_at=clock() + timedelta(minutes=1)))
    await item_table.put(Put(KEYS[1], {}))
    clock.advance(timedelta(minutes=1))

    assert await listed(item_table, 10) == [KEYS[1]]


@pytest.mark.parametrize("cursor", ["", "nonsense", '["one"]', "7", '{"pk": 1}'])
async def test_a_cursor_of_something_else_is_refused(item_table: ItemTable, cursor: str) -> None:
    with pytest.raises(InvalidRequestError):
        await item_table.list_keys(limit=1, cursor=cursor)


async def test_a_page_without_room_is_refused(item_table: ItemTable) -> None:
    with pytest.raises(InvalidRequestError):
        await item_table.list_keys(limit=0)
