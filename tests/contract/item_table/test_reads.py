"""Items are found by their key, alone or many at once."""

import pytest

from mcp_memory_server.domain.kernel.items import MAX_PARTITION_KEY_BYTES, MAX_SORT_KEY_BYTES, Key, Put
from mcp_memory_server.ports.item_table import ItemTable

pytestmark = pytest.mark.anyio

KEY = Key("USER#anna", "FACT#city")


async def test_a_missing_item_is_none(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {"text": "Bern"}))

    assert await item_table.get(Key(KEY.pk, "FACT#cit")) is None
    assert await item_table.get(Key("USER#ann", KEY.sk)) is None


async def test_a_stored_item_is_read_at_once(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {"text": "Bern"}), operation_id="op-1")

    item = await item_table.get(KEY)

    assert item is not None
    assert (item.key, item.body, item.version) == (KEY, {"text": "Bern"}, 1)
    assert (item.expires_at, item.operation_id) == (None, "op-1")


async def test_a_read_that_may_be_stale_finds_the_item_too(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {"text": "Bern"}))

    assert await item_table.get(KEY, may_be_stale=True) is not None
    assert list(await item_table.get_many([KEY], may_be_stale=True)) == [KEY]
    assert len((await item_table.query(KEY.pk, limit=1, may_be_stale=True)).items) == 1


@pytest.mark.parametrize(
    "text", ["🦊", "a\nb", "a\x00b", "a b", "%23", "'; DROP TABLE items; --", "é", "e\u0301", "\U0010ffff"]
)
async def test_a_key_may_hold_anything(item_table: ItemTable, text: str) -> None:
    await item_table.put(Put(Key(text, text), {"text": text}))

    page = await item_table.query(text, prefix=text, limit=None)

    assert [item.key for item in page.items] == [Key(text, text)]
    assert await item_table.get(Key(text, text)) == page.items[0]


async def test_keys_of_the_greatest_length_are_kept(item_table: ItemTable) -> None:
    longest = Key("p" * MAX_PARTITION_KEY_BYTES, "é" * (MAX_SORT_KEY_BYTES // 2))
    await item_table.put(Put(longest, {"text": "Bern"}))

    assert await item_table.get(longest) is not None


async def test_get_many_returns_what_is_there_and_nothing_else(item_table: ItemTable) -> None:
    there = [Key(f"USER#{number}", "PROFILE") for number in range(3)]
    await item_table.write([Put(key, {"name": key.pk}) for key in there])

    found = await item_table.get_many([*there[:2], Key("USER#9", "PROFILE")])

    assert {key: item.body for key, item in found.items()} == {key: {"name": key.pk} for key in there[:2]}


async def test_get_many_may_be_limited_to_some_attributes(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {"text": "Bern", "name": "city", "vector_2": [1, 2]}))

    narrow = (await item_table.get_many([KEY], attributes=["name", "absent"]))[KEY]
    bare = (await item_table.get_many([KEY], attributes=[]))[KEY]

    assert (narrow.body, narrow.version) == ({"name": "city"}, 1)
    assert (bare.body, bare.version) == ({}, 1)


async def test_get_many_of_no_keys_is_empty(item_table: ItemTable) -> None:
    assert await item_table.get_many([]) == {}


async def test_get_many_takes_a_key_that_is_given_twice(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {"text": "Bern"}))

    assert list(await item_table.get_many([KEY, KEY])) == [KEY]


async def test_get_many_takes_more_keys_than_one_request_may_carry(item_table: ItemTable) -> None:
    keys = [Key("USER#anna", f"FACT#{number}") for number in range(130)]
    for first in range(0, len(keys), 10):
        await item_table.write([Put(key, {"text": key.sk}) for key in keys[first : first + 10]])

    found = await item_table.get_many(keys)

    assert {key: item.body["text"] for key, item in found.items()} == {key: key.sk for key in keys}


async def test_get_many_takes_more_bytes_than_one_answer_may_carry(item_table: ItemTable) -> None:
    keys = [Key("USER#anna", f"FACT#{number}") for number in range(48)]
    for key in keys:
        await item_table.put(Put(key, {"text": "x" * 380_000}, expected_version=0))

    found = await item_table.get_many(keys)

    assert found.keys() == set(keys)  # 18 MB; DynamoDB answers with at most 16
