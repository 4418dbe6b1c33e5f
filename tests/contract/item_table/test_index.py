"""Items are found by what their bodies say about the index."""

import pytest

from mcp_memory_server.domain.kernel.items import Delete, Key, Put, Update
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.ports.item_table import ItemTable

pytestmark = pytest.mark.anyio

KEYS = [Key("USER#ana", f"CHAT#{number}") for number in range(5)]


async def put_all(table: ItemTable) -> None:
    for number, key in enumerate(KEYS):
        await table.put(Put(key, {"ix_pk": "BY#ana", "ix_sk": f"{9 - number}", "title": "hello"}))
    await table.put(Put(Key("USER#bo", "CHAT#0"), {"ix_pk": "BY#bo", "ix_sk": "0"}))
    await table.put(Put(Key("USER#ana", "PROFILE"), {"name": "Ana"}))


async def test_the_index_has_its_own_order(item_table: ItemTable) -> None:
    await put_all(item_table)

    found = await item_table.find("BY#ana", limit=10)
    backwards = await item_table.find("BY#ana", descending=True, limit=10)

    assert found.keys == tuple(reversed(KEYS))
    assert backwards.keys == tuple(KEYS)
    assert found.cursor is None


async def test_a_cursor_continues_without_repeating(item_table: ItemTable) -> None:
    await put_all(item_table)

    first = await item_table.find("BY#ana", limit=2)
    second = await item_table.find("BY#ana", limit=2, cursor=first.cursor)
    last = await item_table.find("BY#ana", limit=2, cursor=second.cursor)

    assert first.keys + second.keys + last.keys == tuple(reversed(KEYS))
    assert last.cursor is None


async def test_entries_with_the_same_sort_key_are_all_found_page_by_page(item_table: ItemTable) -> None:
    for key in KEYS:
        await item_table.put(Put(key, {"ix_pk": "SAME", "ix_sk": "x"}))

    found: list[Key] = []
    cursor: str | None = None
    while True:
        page = await item_table.find("SAME", limit=2, cursor=cursor)
        found += page.keys
        if (cursor := page.cursor) is None:
            break

    assert sorted(found) == KEYS


async def test_a_prefix_narrows_the_search(item_table: ItemTable) -> None:
    for sk in ("a%", "a", "ab", "b", "A"):
        await item_table.put(Put(Key("p", sk), {"ix_pk": "x", "ix_sk": sk}))

    found = await item_table.find("x", prefix="a", limit=10)
    literal = await item_table.find("x", prefix="a%", limit=10)

    assert [key.sk for key in found.keys] == ["a", "a%", "ab"]
    assert [key.sk for key in literal.keys] == ["a%"]


async def test_an_item_leaves_the_index_with_its_attributes_or_with_itself(item_table: ItemTable) -> None:
    await put_all(item_table)

    await item_table.write([Delete(KEYS[0]), Update(KEYS[1], remove=("ix_pk", "ix_sk")), Put(KEYS[2], {"title": "x"})])

    assert (await item_table.find("BY#ana", limit=10)).keys == (KEYS[4], KEYS[3])


@pytest.mark.parametrize(
    "body", [{"ix_pk": "x"}, {"ix_sk": "x"}, {"ix_pk": "x", "ix_sk": ""}, {"ix_pk": 1, "ix_sk": "x"}]
)
async def test_half_a_place_in_the_index_is_refused(item_table: ItemTable, body: dict[str, str]) -> None:
    with pytest.raises(InvalidRequestError, match="give both, as text"):
        await item_table.put(Put(KEYS[0], body))


@pytest.mark.parametrize("cursor", ["x", "[]", '["\\ud83d", "b", "c"]', '["a"]', '["a", 1, "b"]', "null"])
async def test_a_cursor_from_elsewhere_is_refused(item_table: ItemTable, cursor: str) -> None:
    with pytest.raises(InvalidRequestError, match="cursor"):
        await item_table.find("x", limit=1, cursor=cursor)
    with pytest.raises(InvalidRequestError, match="limit"):
        await item_table.find("x", limit=0)
