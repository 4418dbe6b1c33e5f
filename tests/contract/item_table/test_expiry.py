"""An expired item is absent, from the very second of its expiry, for whoever looks."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.kernel.items import Delete, Key, Put, Update
from mcp_memory_server.errors import ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

KEY = Key("USER#anna", "FACT#mood")
MINUTE = timedelta(minutes=1)


async def put_expired(item_table: ItemTable, clock: FakeClock, key: Key = KEY) -> None:
    await item_table.put(Put(key, {"text": "old", "count": 5}, expires_at=clock() + MINUTE))
    await item_table.put(Put(key, {"text": "old", "count": 5}, expires_at=clock() + MINUTE))
    clock.advance(MINUTE)


async def test_an_item_is_there_until_the_second_of_its_expiry(item_table: ItemTable, clock: FakeClock) -> None:
    expires_at = clock() + MINUTE
    await item_table.put(Put(KEY, {"text": "cheerful"}, expires_at=expires_at))

    clock.advance(MINUTE - timedelta(microseconds=1))
    item = await item_table.get(KEY)
    assert item is not None
    assert item.expires_at == expires_at

    clock.advance(timedelta(microseconds=1))
    assert await item_table.get(KEY) is None


async def test_a_fraction_of_a_second_is_rounded_down(item_table: ItemTable, clock: FakeClock) -> None:
    await item_table.put(Put(KEY, {}, expires_at=clock() + timedelta(seconds=10, milliseconds=900)))

    item = await item_table.get(KEY)
    assert item is not None
    assert item.expires_at == clock() + timedelta(seconds=10)

    clock.advance(timedelta(seconds=10))
    assert await item_table.get(KEY) is None


async def test_an_item_that_is_born_expired_is_not_there(item_table: ItemTable, clock: FakeClock) -> None:
    await item_table.put(Put(KEY, {}, expires_at=clock()))

    assert await item_table.get(KEY) is None


async def test_no_read_returns_an_expired_item(item_table: ItemTable, clock: FakeClock) -> None:
    await put_expired(item_table, clock)
    await item_table.put(Put(Key(KEY.pk, "other"), {}))

    assert await item_table.get(KEY) is None
    assert await item_table.get_many([KEY]) == {}
    assert [item.key.sk for item in (await item_table.query(KEY.pk, limit=None)).items] == ["other"]
    assert [item.key.sk for item in (await item_table.query(KEY.pk, limit=1, attributes=[])).items] == ["other"]


async def test_a_partition_of_expired_items_is_an_empty_page(item_table: ItemTable, clock: FakeClock) -> None:
    await put_expired(item_table, clock)

    page = await item_table.query(KEY.pk, limit=1)

    assert (page.items, page.cursor) == ((), None)


@pytest.mark.parametrize("expected_version", [None, 0])
async def test_a_put_over_an_expired_item_starts_anew(
    item_table: ItemTable, clock: FakeClock, expected_version: int | None
) -> None:
    await put_expired(item_table, clock)

    assert await item_table.put(Put(KEY, {"text": "new"}, expected_version)) == 1

    item = await item_table.get(KEY)
    assert item is not None
    assert (item.body, item.expires_at) == ({"text": "new"}, None)


async def test_expecting_the_version_of_an_expired_item_is_a_conflict(item_table: ItemTable, clock: FakeClock) -> None:
    await put_expired(item_table, clock)

    with pytest.raises(ConflictError):
        await item_table.put(Put(KEY, {}, expected_version=2))
    with pytest.raises(ConflictError):
        await item_table.update(Update(KEY, add={"count": 1}, expected_version=2))
    with pytest.raises(ConflictError):
        await item_table.delete(KEY, expected_version=2)


@pytest.mark.parametrize("expected_version", [None, 0])
async def test_an_update_of_an_expired_item_starts_from_nothing(
    item_table: ItemTable, clock: FakeClock, expected_version: int | None
) -> None:
    await put_expired(item_table, clock)

    item = await item_table.update(Update(KEY, add={"count": 1}, expected_version=expected_version))

    assert (item.body, item.version, item.expires_at) == ({"count": 1}, 1, None)
    assert await item_table.get(KEY) == item


async def test_deleting_an_expired_item_finds_nothing(item_table: ItemTable, clock: FakeClock) -> None:
    await put_expired(item_table, clock)

    assert await item_table.delete(KEY) is False


async def test_several_writes_at_once_treat_expired_items_as_absent(item_table: ItemTable, clock: FakeClock) -> None:
    keys = [Key(KEY.pk, name) for name in ("deleted", "put", "put if absent", "updated")]
    soon = clock() + MINUTE
    await item_table.write([Put(key, {"old": True, "count": 5}, expires_at=soon) for key in keys])
    clock.advance(MINUTE)

    deleted, put, put_if_absent, updated = keys
    await item_table.write(
        [Delete(deleted), Put(put, {}), Put(put_if_absent, {}, 0), Update(updated, add={"count": 1})]
    )

    page = await item_table.query(KEY.pk, limit=None)
    assert {item.key: (item.version, item.body, item.expires_at) for item in page.items} == {
        put: (1, {}, None),
        put_if_absent: (1, {}, None),
        updated: (1, {"count": 1}, None),
    }


async def test_expecting_an_expired_version_undoes_the_other_writes(item_table: ItemTable, clock: FakeClock) -> None:
    await put_expired(item_table, clock)
    other = Key(KEY.pk, "other")

    with pytest.raises(ConflictError):
        await item_table.write([Put(other, {}), Put(KEY, {}, expected_version=2)])

    assert await item_table.get(other) is None


async def test_an_operation_on_an_expired_item_is_forgotten_with_it(item_table: ItemTable, clock: FakeClock) -> None:
    await item_table.update(Update(KEY, add={"count": 1}, expires_at=clock() + MINUTE), operation_id="op-1")
    clock.advance(MINUTE)

    item = await item_table.update(Update(KEY, add={"count": 1}), operation_id="op-1")

    assert (item.body, item.version) == ({"count": 1}, 1)
