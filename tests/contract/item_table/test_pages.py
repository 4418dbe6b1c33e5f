"""Pages are full, follow each other without gap or repetition, and survive what happens between them."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.ports.item_table import ItemTable
from tests.clock import FakeClock
from tests.contract.item_table.test_query import PK, fill, sort_keys

pytestmark = pytest.mark.anyio

TEN = [f"TURN#{number}" for number in range(10)]


async def read_in_pages(item_table: ItemTable, *, limit: int, prefix: str, descending: bool) -> list[list[str]]:
    pages: list[list[str]] = []
    cursor = None
    for _ in range(2 * len(TEN)):  # a cursor that stands still must not keep the test going
        page = await item_table.query(PK, prefix=prefix, limit=limit, cursor=cursor, descending=descending)
        pages.append(sort_keys(page.items))
        cursor = page.cursor
        if cursor is None:
            break
    return pages


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("limit", [1, 3, 9])
async def test_pages_follow_each_other_without_gap(item_table: ItemTable, limit: int, descending: bool) -> None:  # noqa: FBT001
    await fill(item_table, "PREF#a", *TEN, "~META")

    pages = await read_in_pages(item_table, limit=limit, prefix="TURN#", descending=descending)

    assert [sk for page in pages for sk in page] == (TEN[::-1] if descending else TEN)
    assert {len(page) for page in pages[:-1]} == {limit}


@pytest.mark.parametrize("limit", [10, 11])
async def test_the_page_that_reaches_the_end_has_no_cursor(item_table: ItemTable, limit: int) -> None:
    await fill(item_table, *TEN)

    page = await item_table.query(PK, limit=limit)

    assert (sort_keys(page.items), page.cursor) == (TEN, None)


async def test_a_cursor_continues_within_a_range(item_table: ItemTable) -> None:
    await fill(item_table, *TEN)
    between = ("TURN#2", "TURN#6")

    first = await item_table.query(PK, between=between, limit=3)
    rest = await item_table.query(PK, between=between, limit=3, cursor=first.cursor)

    assert (sort_keys(first.items), sort_keys(rest.items), rest.cursor) == (TEN[2:5], TEN[5:7], None)


@pytest.mark.parametrize("descending", [False, True])
async def test_a_cursor_stays_valid_when_the_item_it_stands_on_goes(item_table: ItemTable, descending: bool) -> None:  # noqa: FBT001
    await fill(item_table, *TEN)
    order = TEN[::-1] if descending else TEN
    first = await item_table.query(PK, limit=4, descending=descending)

    await item_table.delete_many([Key(PK, sk) for sk in order[2:6]])
    rest = await item_table.query(PK, limit=None, descending=descending, cursor=first.cursor)

    assert sort_keys(rest.items) == order[6:]


async def test_items_that_come_later_are_seen_when_they_lie_ahead_and_never_repeated(item_table: ItemTable) -> None:
    await fill(item_table, "b", "d", "f", "h")
    first = await item_table.query(PK, limit=2)

    await fill(item_table, "a", "c", "e", "g", "b", "d")
    rest = await item_table.query(PK, limit=None, cursor=first.cursor)

    assert (sort_keys(first.items), sort_keys(rest.items)) == (["b", "d"], ["e", "f", "g", "h"])


async def test_expired_items_between_do_not_make_a_page_short(item_table: ItemTable, clock: FakeClock) -> None:
    names = [f"{number:03}" for number in range(100)]
    alive = names[::20]
    soon = clock() + timedelta(minutes=1)
    writes = [Put(Key(PK, sk), {}, expires_at=None if sk in alive else soon) for sk in names]
    for first in range(0, len(writes), 10):
        await item_table.write(writes[first : first + 10])
    clock.advance(timedelta(minutes=2))

    page = await item_table.query(PK, limit=3)
    rest = await item_table.query(PK, limit=3, cursor=page.cursor)

    assert (sort_keys(page.items), sort_keys(rest.items)) == (alive[:3], alive[3:])


async def test_a_megabyte_and_more_comes_in_one_page_when_asked_for(item_table: ItemTable) -> None:
    names = [f"{number:02}" for number in range(12)]
    for sk in names:
        await item_table.put(Put(Key(PK, sk), {"text": "x" * 200_000, "short": sk}, expected_version=0))

    page = await item_table.query(PK, limit=None)
    limited = await item_table.query(PK, limit=11, attributes=["short"])

    assert (sort_keys(page.items), page.cursor) == (names, None)
    assert [item.body["short"] for item in limited.items] == names[:11]
