"""Several writes at once: all of them, or none."""

import pytest

from mcp_memory_server.domain.kernel.items import MAX_WRITES_AT_ONCE, Delete, Key, Put, Update, Write
from mcp_memory_server.errors import ConflictError, InvalidRequestError, TooLargeError
from mcp_memory_server.ports.item_table import ItemTable

pytestmark = pytest.mark.anyio

PK = "USER#anna"
A, B, C = (Key(PK, sk) for sk in "abc")


async def state(item_table: ItemTable) -> dict[str, tuple[int, dict[str, object]]]:
    page = await item_table.query(PK, limit=None)
    return {item.key.sk: (item.version, dict(item.body)) for item in page.items}


async def test_puts_updates_and_deletes_happen_together(item_table: ItemTable) -> None:
    await item_table.put(Put(B, {"count": 1, "name": "b"}))
    await item_table.put(Put(C, {"name": "c"}))

    await item_table.write([Put(A, {"name": "a"}), Update(B, add={"count": 2}, set={"new": True}), Delete(C)])

    assert await state(item_table) == {"a": (1, {"name": "a"}), "b": (2, {"count": 3, "name": "b", "new": True})}


async def test_writes_reach_over_partitions(item_table: ItemTable) -> None:
    elsewhere = Key("SESSION#1", "TURN#1")

    await item_table.write([Put(A, {"name": "a"}), Put(elsewhere, {"text": "hello"})])

    assert (await item_table.get_many([A, elsewhere])).keys() == {A, elsewhere}


async def test_expected_versions_are_met_one_by_one(item_table: ItemTable) -> None:
    await item_table.put(Put(B, {"count": 1}))
    await item_table.put(Put(C, {}))

    await item_table.write([Put(A, {}, 0), Update(B, add={"count": 1}, expected_version=1), Delete(C, 1)])

    assert await state(item_table) == {"a": (1, {}), "b": (2, {"count": 2})}


@pytest.mark.parametrize(
    "late",
    [
        Put(C, {"late": True}, 0),
        Put(C, {"late": True}, 7),
        Update(C, add={"count": 1}, expected_version=2),
        Delete(C, 2),
    ],
    ids=["put if absent", "put", "update", "delete"],
)
async def test_a_conflict_in_the_last_write_undoes_the_others(item_table: ItemTable, late: Write) -> None:
    await item_table.put(Put(B, {"name": "b"}))
    await item_table.put(Put(C, {"name": "c"}))
    before = await state(item_table)

    with pytest.raises(ConflictError):
        await item_table.write([Put(A, {}), Delete(B), late])

    assert await state(item_table) == before


@pytest.mark.parametrize("late", [Put(A, {}, 1), Update(A, add={"count": 1}, expected_version=1), Delete(A, 1)])
async def test_expecting_a_version_of_a_missing_item_undoes_the_others(item_table: ItemTable, late: Write) -> None:
    with pytest.raises(ConflictError):
        await item_table.write([Put(B, {}), late])

    assert await state(item_table) == {}


async def test_deleting_what_is_not_there_is_no_conflict(item_table: ItemTable) -> None:
    await item_table.write([Delete(A), Put(B, {})])

    assert await state(item_table) == {"b": (1, {})}


async def test_the_greatest_number_of_writes_is_taken(item_table: ItemTable) -> None:
    keys = [Key(PK, f"{number:02}") for number in range(MAX_WRITES_AT_ONCE)]

    await item_table.write([Put(key, {}) for key in keys])

    assert sorted(await state(item_table)) == [key.sk for key in keys]


async def test_more_writes_than_that_are_refused(item_table: ItemTable) -> None:
    keys = [Key(PK, f"{number:02}") for number in range(MAX_WRITES_AT_ONCE + 1)]

    with pytest.raises(InvalidRequestError):
        await item_table.write([Put(key, {}) for key in keys])

    assert await state(item_table) == {}


async def test_no_writes_at_all_are_refused(item_table: ItemTable) -> None:
    with pytest.raises(InvalidRequestError):
        await item_table.write([])


async def test_two_writes_for_the_same_item_are_refused(item_table: ItemTable) -> None:
    with pytest.raises(InvalidRequestError):
        await item_table.write([Put(A, {}), Put(B, {}), Update(A, add={"count": 1})])

    assert await state(item_table) == {}


async def test_an_item_over_the_limit_in_the_middle_stops_them_all(item_table: ItemTable) -> None:
    with pytest.raises(TooLargeError):
        await item_table.write([Put(A, {}), Put(B, {"text": "x" * 410_000}), Put(C, {})])

    assert await state(item_table) == {}


async def test_a_value_that_cannot_be_kept_in_the_middle_stops_them_all(item_table: ItemTable) -> None:
    with pytest.raises(InvalidRequestError):
        await item_table.write([Put(A, {}), Update(B, set={"text": "\ud800"}), Put(C, {})])

    assert await state(item_table) == {}


async def test_an_update_that_cannot_be_made_undoes_the_others(item_table: ItemTable) -> None:
    await item_table.put(Put(B, {"count": "not a number"}))

    with pytest.raises(InvalidRequestError):
        await item_table.write([Put(A, {}), Update(B, add={"count": 1})])

    assert await state(item_table) == {"b": (1, {"count": "not a number"})}


async def test_large_items_may_be_written_together(item_table: ItemTable) -> None:
    keys = [Key(PK, f"{number:02}") for number in range(9)]

    await item_table.write([Put(key, {"text": "x" * 390_000}, 0) for key in keys])  # 3.5 MB; DynamoDB takes 4

    assert sorted(await state(item_table)) == [key.sk for key in keys]
