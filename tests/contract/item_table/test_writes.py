"""Putting and deleting one item: versions decide who may, and what is refused changes nothing."""

import pytest

from mcp_memory_server.domain.kernel.item_checks import item_size
from mcp_memory_server.domain.kernel.items import MAX_ITEM_BYTES, Key, Put
from mcp_memory_server.errors import ConflictError, TooLargeError
from mcp_memory_server.ports.item_table import ItemTable

pytestmark = pytest.mark.anyio

KEY = Key("USER#anna", "FACT#city")


async def test_the_version_rises_by_one_with_every_put(item_table: ItemTable) -> None:
    versions = [await item_table.put(Put(KEY, {"text": text})) for text in ("a", "b", "c")]

    item = await item_table.get(KEY)

    assert versions == [1, 2, 3]
    assert item is not None
    assert (item.body, item.version) == ({"text": "c"}, 3)


async def test_a_put_replaces_the_whole_item(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {"text": "Bern", "note": "old"}))
    await item_table.put(Put(KEY, {"text": "Basel"}))

    item = await item_table.get(KEY)

    assert item is not None
    assert item.body == {"text": "Basel"}


async def test_expecting_nothing_creates_once(item_table: ItemTable) -> None:
    assert await item_table.put(Put(KEY, {"text": "first"}, expected_version=0)) == 1

    with pytest.raises(ConflictError):
        await item_table.put(Put(KEY, {"text": "second"}, expected_version=0))

    item = await item_table.get(KEY)
    assert item is not None
    assert (item.body["text"], item.version) == ("first", 1)


async def test_the_expected_version_is_replaced(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {"text": "first"}))

    assert await item_table.put(Put(KEY, {"text": "second"}, expected_version=1)) == 2


@pytest.mark.parametrize("expected_version", [0, 1, 3])
async def test_a_stale_version_is_refused_and_changes_nothing(item_table: ItemTable, expected_version: int) -> None:
    await item_table.put(Put(KEY, {"text": "first"}))
    await item_table.put(Put(KEY, {"text": "second"}))

    with pytest.raises(ConflictError):
        await item_table.put(Put(KEY, {"text": "late"}, expected_version=expected_version))

    item = await item_table.get(KEY)
    assert item is not None
    assert (item.body["text"], item.version) == ("second", 2)


async def test_expecting_a_version_of_a_missing_item_is_a_conflict(item_table: ItemTable) -> None:
    with pytest.raises(ConflictError):
        await item_table.put(Put(KEY, {"text": "late"}, expected_version=1))

    assert await item_table.get(KEY) is None


async def test_a_deleted_item_is_gone_and_starts_anew(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {"text": "first"}))
    await item_table.put(Put(KEY, {"text": "second"}))

    assert await item_table.delete(KEY) is True
    assert await item_table.get(KEY) is None
    assert await item_table.put(Put(KEY, {"text": "third"}, expected_version=0)) == 1


async def test_deleting_tells_whether_it_was_there(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {}))

    assert [await item_table.delete(KEY), await item_table.delete(KEY)] == [True, False]


async def test_a_delete_with_the_right_version_removes(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {}))

    assert await item_table.delete(KEY, expected_version=1) is True
    assert await item_table.get(KEY) is None


async def test_a_delete_with_a_stale_version_removes_nothing(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {}))
    await item_table.put(Put(KEY, {}))

    with pytest.raises(ConflictError):
        await item_table.delete(KEY, expected_version=1)

    assert await item_table.get(KEY) is not None


async def test_a_delete_that_expects_a_version_of_a_missing_item_is_a_conflict(item_table: ItemTable) -> None:
    with pytest.raises(ConflictError):
        await item_table.delete(KEY, expected_version=1)


async def test_delete_many_removes_all_of_these_and_no_others(item_table: ItemTable) -> None:
    keys = [Key("USER#anna", f"FACT#{number:02}") for number in range(60)]
    for first in range(0, len(keys), 10):
        await item_table.write([Put(key, {}) for key in keys[first : first + 10]])

    await item_table.delete_many([*keys[:55], *keys[:3], Key("USER#anna", "absent")])

    page = await item_table.query("USER#anna", limit=None)
    assert [item.key for item in page.items] == keys[55:]


async def test_delete_many_may_be_repeated_and_may_be_empty(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {}))

    await item_table.delete_many([KEY])
    await item_table.delete_many([KEY])
    await item_table.delete_many([])

    assert await item_table.get(KEY) is None


def body_of_size(key: Key, size: int) -> dict[str, str]:
    return {"text": "x" * (size - item_size(key, {"text": ""}))}


async def test_the_largest_item_is_kept(item_table: ItemTable, engine: str) -> None:
    if engine == "moto":
        pytest.skip("moto draws the line at 405,000 bytes, the service at 409,600")
    body = body_of_size(KEY, MAX_ITEM_BYTES)
    await item_table.put(Put(KEY, body), operation_id="o" * 128)

    item = await item_table.get(KEY)

    assert item is not None
    assert item.body == body


async def test_an_item_over_the_limit_is_refused_before_anything_is_written(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {"text": "small"}))

    with pytest.raises(TooLargeError):
        await item_table.put(Put(KEY, body_of_size(KEY, MAX_ITEM_BYTES + 1)))

    item = await item_table.get(KEY)
    assert item is not None
    assert (item.body, item.version) == ({"text": "small"}, 1)


async def test_scrubbing_and_closing_twice_are_harmless(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {"text": "secret"}))
    await item_table.delete(KEY)

    await item_table.scrub()
    await item_table.close()
    await item_table.close()
