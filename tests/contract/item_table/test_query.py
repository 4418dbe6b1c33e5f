"""A query gives one partition in byte order, page by page."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.kernel.items import Item, Key, Put
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.ports.item_table import ItemTable
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

PK = "USER#anna"


async def fill(item_table: ItemTable, *sort_keys: str, text: str = "x") -> None:
    for first in range(0, len(sort_keys), 10):
        await item_table.write([Put(Key(PK, sk), {"text": text}) for sk in sort_keys[first : first + 10]])


def sort_keys(items: tuple[Item, ...]) -> list[str]:
    return [item.key.sk for item in items]


async def test_a_partition_without_items_is_an_empty_page(item_table: ItemTable) -> None:
    page = await item_table.query(PK, limit=10)

    assert (page.items, page.cursor) == ((), None)


async def test_a_query_sees_its_own_partition_only(item_table: ItemTable) -> None:
    await fill(item_table, "b", "a")
    await item_table.put(Put(Key(PK + "2", "c"), {}))

    page = await item_table.query(PK, limit=None)

    assert sort_keys(page.items) == ["a", "b"]


async def test_a_query_returns_whole_items(item_table: ItemTable) -> None:
    await item_table.put(Put(Key(PK, "a"), {"text": "x", "list": [1, {"b": b"\x00"}]}), operation_id="op-1")

    page = await item_table.query(PK, limit=1)

    assert page.items == (await item_table.get(Key(PK, "a")),)


# Above U+FFFF byte order and the order of UTF-16 part ways: \ufb01 sorts before 🦊 in bytes, after it in UTF-16.
ASCII = ["\x00", " ", "#", "0", "10", "2", "A", "Z", "_", "a", "aa", "a~", "b", "~", "\x7f"]
IN_BYTE_ORDER = [*ASCII, "\x80", "é", "中", "\ufb01", "🦊", "\U0010ffff"]


@pytest.mark.parametrize("descending", [False, True])
async def test_items_come_in_the_byte_order_of_their_sort_keys(item_table: ItemTable, descending: bool) -> None:  # noqa: FBT001
    await fill(item_table, *sorted(IN_BYTE_ORDER, key=hash))

    page = await item_table.query(PK, limit=None, descending=descending)

    assert sort_keys(page.items) == (IN_BYTE_ORDER[::-1] if descending else IN_BYTE_ORDER)


async def test_a_prefix_matches_beginnings_only(item_table: ItemTable) -> None:
    await fill(item_table, "FACT", "FACT#", "FACT#a", "FACT#b/c", "FACT$", "FACTS#a", "PREF#FACT#", "fact#a")

    page = await item_table.query(PK, prefix="FACT#", limit=None)

    assert sort_keys(page.items) == ["FACT#", "FACT#a", "FACT#b/c"]


@pytest.mark.parametrize("prefix", ["\x7f", "a\ud7ff", "\uffff", "\U0010ffff", "a\U0010ffff", "%", "_", "*", "["])
async def test_a_prefix_may_end_with_any_character(item_table: ItemTable, prefix: str) -> None:
    await fill(item_table, "a", prefix, prefix + "\U0010ffff", prefix + "x", "b")

    page = await item_table.query(PK, prefix=prefix, limit=None)

    assert sort_keys(page.items) == [prefix, prefix + "x", prefix + "\U0010ffff"]


async def test_a_prefix_and_a_descending_order_go_together(item_table: ItemTable) -> None:
    await fill(item_table, "TURN#1", "TURN#2", "TURN#3", "~META")

    page = await item_table.query(PK, prefix="TURN#", descending=True, limit=2)

    assert sort_keys(page.items) == ["TURN#3", "TURN#2"]


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        (("b", "d"), ["b", "c", "d"]),
        (("b", "b"), ["b"]),
        (("aa", "cc"), ["b", "c"]),
        (("x", "y"), []),
        (("", "b"), ["a", "b"]),
        (("d", "b"), []),
    ],
)
async def test_a_range_includes_both_ends(item_table: ItemTable, between: tuple[str, str], expected: list[str]) -> None:
    await fill(item_table, "a", "b", "c", "d", "e")

    page = await item_table.query(PK, between=between, limit=None)
    backwards = await item_table.query(PK, between=between, limit=None, descending=True)

    assert (sort_keys(page.items), sort_keys(backwards.items)) == (expected, expected[::-1])


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_under_one_is_refused(item_table: ItemTable, limit: int) -> None:
    with pytest.raises(InvalidRequestError):
        await item_table.query(PK, limit=limit)


async def test_a_prefix_together_with_a_range_is_refused(item_table: ItemTable) -> None:
    with pytest.raises(InvalidRequestError):
        await item_table.query(PK, prefix="a", between=("a", "b"), limit=1)


async def test_attributes_limit_the_bodies_and_nothing_else(item_table: ItemTable, clock: FakeClock) -> None:
    await item_table.put(Put(Key(PK, "a"), {"name": 1, "size": 2, "a.b": 3}, expires_at=clock() + timedelta(days=1)))
    whole = (await item_table.query(PK, limit=1)).items[0]

    narrow = (await item_table.query(PK, limit=1, attributes=["name", "a.b", "absent"])).items[0]
    bare = (await item_table.query(PK, limit=1, attributes=[])).items[0]

    assert (narrow.body, bare.body) == ({"name": 1, "a.b": 3}, {})
    assert (narrow.key, narrow.version, narrow.expires_at) == (whole.key, whole.version, whole.expires_at)


async def test_an_item_without_the_wanted_attributes_is_still_there(item_table: ItemTable) -> None:
    await fill(item_table, "a", "b")

    page = await item_table.query(PK, limit=None, attributes=["absent"])

    assert [(item.key.sk, item.body) for item in page.items] == [("a", {}), ("b", {})]


@pytest.mark.parametrize("cursor", ["\ud83d", "", "x" * 2000])
async def test_what_cannot_be_a_sort_key_is_refused_as_a_cursor(item_table: ItemTable, cursor: str) -> None:
    with pytest.raises(InvalidRequestError, match="the cursor is not one of this query's"):
        await item_table.query("x", limit=1, cursor=cursor)
