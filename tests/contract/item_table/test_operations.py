"""A write that is repeated with the same operation id happens once."""

import pytest

from mcp_memory_server.domain.kernel.item_checks import MAX_OPERATION_ID_BYTES
from mcp_memory_server.domain.kernel.items import REMEMBERED_OPERATIONS, Delete, Key, Put, Update, Write
from mcp_memory_server.errors import ConflictError, InvalidRequestError
from mcp_memory_server.ports.item_table import ItemTable
from tests.contract.item_table.test_write_at_once import state

pytestmark = pytest.mark.anyio

PK = "USER#anna"
KEY, OTHER = Key(PK, "a"), Key(PK, "b")


@pytest.mark.parametrize("expected_version", [None, 0])
async def test_a_repeated_put_happens_once_and_answers_the_same(
    item_table: ItemTable, expected_version: int | None
) -> None:
    put = Put(KEY, {"text": "Bern"}, expected_version)

    versions = [await item_table.put(put, operation_id="op-1") for _ in range(3)]

    assert versions == [1, 1, 1]


async def test_a_repeated_put_over_an_earlier_version_is_no_conflict_with_itself(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {"text": "Bern"}))
    put = Put(KEY, {"text": "Basel"}, expected_version=1)

    assert [await item_table.put(put, operation_id="op-1") for _ in range(2)] == [2, 2]


async def test_a_put_with_another_id_is_another_put(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {"text": "Bern"}, 0), operation_id="op-1")

    with pytest.raises(ConflictError):
        await item_table.put(Put(KEY, {"text": "Bern"}, 0), operation_id="op-2")
    assert await item_table.put(Put(KEY, {"text": "Bern"}), operation_id="op-2") == 2


async def test_writes_without_an_id_are_never_repeats(item_table: ItemTable) -> None:
    assert [await item_table.put(Put(KEY, {"text": "Bern"})) for _ in range(2)] == [1, 2]
    assert (await item_table.update(Update(KEY, add={"count": 1}))).version == 3


async def test_a_repeated_update_counts_once_and_answers_the_same(item_table: ItemTable) -> None:
    update = Update(KEY, add={"count": 1}, set={"name": "Anna"})

    answers = [await item_table.update(update, operation_id="op-1") for _ in range(3)]

    assert answers == [answers[0]] * 3
    assert (answers[0].body, answers[0].version) == ({"count": 1, "name": "Anna"}, 1)


async def test_a_repeated_update_is_no_conflict_with_itself(item_table: ItemTable) -> None:
    update = Update(KEY, add={"count": 1}, expected_version=0)
    await item_table.update(update, operation_id="op-1")

    item = await item_table.update(update, operation_id="op-1")

    assert (item.body, item.version) == ({"count": 1}, 1)


async def test_an_update_is_recognised_after_updates_of_others(item_table: ItemTable) -> None:
    await item_table.update(Update(KEY, add={"count": 1}), operation_id="mine")
    for number in range(REMEMBERED_OPERATIONS - 1):
        await item_table.update(Update(KEY, add={"count": 10}), operation_id=f"theirs-{number}")

    await item_table.update(Update(KEY, add={"count": 1}), operation_id="mine")

    assert await state(item_table) == {"a": (REMEMBERED_OPERATIONS, {"count": 1 + 10 * (REMEMBERED_OPERATIONS - 1)})}


async def test_repeated_writes_at_once_happen_once(item_table: ItemTable) -> None:
    writes: list[Write] = [Put(KEY, {"text": "Bern"}, 0), Update(OTHER, add={"count": 1})]

    await item_table.write(writes, operation_id="op-1")
    await item_table.write(writes, operation_id="op-1")

    assert await state(item_table) == {"a": (1, {"text": "Bern"}), "b": (1, {"count": 1})}


async def test_repeated_writes_at_once_are_no_conflict_with_their_own_deletion(item_table: ItemTable) -> None:
    await item_table.put(Put(OTHER, {"old": True}))
    writes: list[Write] = [Put(KEY, {"text": "Bern"}, 0), Delete(OTHER, 1)]

    await item_table.write(writes, operation_id="op-1")
    await item_table.write(writes, operation_id="op-1")

    assert await state(item_table) == {"a": (1, {"text": "Bern"})}


async def test_repeated_writes_at_once_do_not_touch_what_others_wrote_since(item_table: ItemTable) -> None:
    third = Key(PK, "c")
    writes: list[Write] = [Update(KEY, add={"count": 1}), Put(OTHER, {"by": "me"}), Delete(third)]
    await item_table.write(writes, operation_id="op-1")
    await item_table.put(Put(OTHER, {"by": "someone else"}))
    await item_table.put(Put(third, {"by": "someone else"}))

    await item_table.write(writes, operation_id="op-1")

    assert await state(item_table) == {
        "a": (1, {"count": 1}),
        "b": (2, {"by": "someone else"}),
        "c": (1, {"by": "someone else"}),
    }


async def test_the_same_id_on_another_item_is_another_write(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {}), operation_id="op-1")
    await item_table.put(Put(OTHER, {}), operation_id="op-1")

    assert (await item_table.get_many([KEY, OTHER])).keys() == {KEY, OTHER}


@pytest.mark.parametrize("operation_id", ["two words", " ", "a\nb", "ü🦊", "o" * MAX_OPERATION_ID_BYTES])
async def test_an_operation_id_may_be_any_short_text(item_table: ItemTable, operation_id: str) -> None:
    await item_table.update(Update(KEY, add={"count": 1}), operation_id=operation_id)
    item = await item_table.update(Update(KEY, add={"count": 1}), operation_id=operation_id)

    assert (item.body, item.operation_id) == ({"count": 1}, operation_id)


@pytest.mark.parametrize("part", ["two", "words", "", "two words"])
async def test_a_part_of_an_operation_id_is_not_recognised(item_table: ItemTable, part: str) -> None:
    await item_table.update(Update(KEY, add={"count": 1}), operation_id="two words of it")

    await item_table.update(Update(KEY, add={"count": 1}), operation_id=part or None)

    assert await state(item_table) == {"a": (2, {"count": 2})}


@pytest.mark.parametrize("operation_id", ["", "o" * (MAX_OPERATION_ID_BYTES + 1), "ü" * 65, "\ud800"])
async def test_an_operation_id_that_cannot_be_kept_is_refused(item_table: ItemTable, operation_id: str) -> None:
    with pytest.raises(InvalidRequestError):
        await item_table.put(Put(KEY, {}), operation_id=operation_id)
    with pytest.raises(InvalidRequestError):
        await item_table.write([Put(KEY, {})], operation_id=operation_id)

    assert await item_table.get(KEY) is None
