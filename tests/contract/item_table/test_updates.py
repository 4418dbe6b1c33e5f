"""An update changes attributes in one step, without reading first."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.kernel.items import PUSHED_KEPT, Key, Put, Update, pushed
from mcp_memory_server.errors import ConflictError, InvalidRequestError, TooLargeError
from mcp_memory_server.ports.item_table import ItemTable
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

KEY = Key("USER#anna", "PROFILE")
MOTO_HALF_UPDATES = "moto refuses such an update and keeps a part of it all the same"


async def test_a_counter_starts_from_nothing(item_table: ItemTable) -> None:
    item = await item_table.update(Update(KEY, add={"turns": 1}))

    assert (item.key, item.body, item.version) == (KEY, {"turns": 1}, 1)
    assert await item_table.get(KEY) == item


async def test_counters_add_up(item_table: ItemTable) -> None:
    for amount in (5, -2, 10**20):
        item = await item_table.update(Update(KEY, add={"turns": amount, "cost": 0.5}))

    assert (item.body, item.version) == ({"turns": 10**20 + 3, "cost": 1.5}, 3)


async def test_set_remove_and_add_happen_in_one_step_and_leave_the_rest_alone(item_table: ItemTable) -> None:
    await item_table.put(Put(KEY, {"name": "Anna", "old": 1, "turns": 2, "kept": {"a": [1]}}))

    item = await item_table.update(
        Update(KEY, set={"name": "Ann", "new": None}, remove=("old", "absent"), add={"turns": 3})
    )

    assert (item.body, item.version) == ({"name": "Ann", "new": None, "turns": 5, "kept": {"a": [1]}}, 2)
    assert await item_table.get(KEY) == item


async def test_pushed_values_are_kept_newest_first_and_the_oldest_goes(item_table: ItemTable) -> None:
    for number in range(PUSHED_KEPT + 3):
        await item_table.update(Update(KEY, add={"turns": 1}, push={"recent": f"change {number}"}))

    item = await item_table.get(KEY)
    assert item is not None
    assert pushed(item.body, "recent") == [f"change {number}" for number in range(PUSHED_KEPT + 2, 2, -1)]


async def test_the_first_push_creates_the_item_and_two_names_do_not_meet(item_table: ItemTable) -> None:
    await item_table.update(Update(KEY, push={"a": "1"}))
    item = await item_table.update(Update(KEY, push={"a": "2", "b": "1"}))

    assert (pushed(item.body, "a"), pushed(item.body, "b")) == (["2", "1"], ["1"])


async def test_a_repeated_push_is_one_push(item_table: ItemTable) -> None:
    push = Update(KEY, push={"a": "1"})
    await item_table.update(push, operation_id="once")

    item = await item_table.update(push, operation_id="once")

    assert pushed(item.body, "a") == ["1"]


async def test_only_text_can_be_pushed(item_table: ItemTable) -> None:
    with pytest.raises(InvalidRequestError, match="only text can be pushed, attribute 'a' got int"):
        await item_table.update(Update(KEY, push={"a": 1}))  # type: ignore[dict-item]


async def test_removing_from_a_missing_item_creates_an_empty_one(item_table: ItemTable) -> None:
    item = await item_table.update(Update(KEY, remove=("absent",)))

    assert (item.body, item.version) == ({}, 1)


@pytest.mark.parametrize("name", ["name", "size", "a.b", "a b", "#a", ":a", "$bytes", "🦊"])
async def test_an_update_may_name_any_attribute(item_table: ItemTable, name: str) -> None:
    await item_table.update(Update(KEY, set={name: "text"}))
    await item_table.update(Update(KEY, remove=(name,)))
    item = await item_table.update(Update(KEY, add={name: 2}))

    assert item.body == {name: 2}


async def test_a_set_value_comes_back_in_its_stored_form(item_table: ItemTable) -> None:
    item = await item_table.update(Update(KEY, set={"whole": 3.0, "pair": (1, 2.5), "bytes": b"\x00"}))

    assert item.body == {"whole": 3, "pair": [1, 2.5], "bytes": b"\x00"}
    assert type(item.body["whole"]) is int


async def test_an_update_with_the_expected_version_happens(item_table: ItemTable) -> None:
    await item_table.update(Update(KEY, add={"turns": 1}, expected_version=0))
    item = await item_table.update(Update(KEY, add={"turns": 1}, expected_version=1))

    assert (item.body, item.version) == ({"turns": 2}, 2)


@pytest.mark.parametrize("expected_version", [0, 1, 3])
async def test_an_update_with_another_version_changes_nothing(item_table: ItemTable, expected_version: int) -> None:
    await item_table.update(Update(KEY, add={"turns": 1}))
    await item_table.update(Update(KEY, add={"turns": 1}))

    with pytest.raises(ConflictError):
        await item_table.update(Update(KEY, add={"turns": 1}, expected_version=expected_version))

    item = await item_table.get(KEY)
    assert item is not None
    assert (item.body, item.version) == ({"turns": 2}, 2)


async def test_an_update_that_expects_a_version_of_a_missing_item_is_a_conflict(item_table: ItemTable) -> None:
    with pytest.raises(ConflictError):
        await item_table.update(Update(KEY, set={"name": "Anna"}, expected_version=1))

    assert await item_table.get(KEY) is None


async def test_the_expiry_stays_unless_a_new_one_is_given(item_table: ItemTable, clock: FakeClock) -> None:
    soon, later = clock() + timedelta(days=1), clock() + timedelta(days=2)
    await item_table.put(Put(KEY, {"turns": 1}, expires_at=soon))

    kept = await item_table.update(Update(KEY, add={"turns": 1}))
    changed = await item_table.update(Update(KEY, add={"turns": 1}, expires_at=later))

    assert (kept.expires_at, changed.expires_at) == (soon, later)


async def test_a_put_without_expiry_takes_it_away(item_table: ItemTable, clock: FakeClock) -> None:
    await item_table.put(Put(KEY, {"turns": 1}, expires_at=clock() + timedelta(days=1)))
    await item_table.put(Put(KEY, {"turns": 2}))

    item = await item_table.get(KEY)

    assert item is not None
    assert item.expires_at is None


@pytest.mark.parametrize("value", ["text", None, True, [1], {"a": 1}])
async def test_raising_what_is_no_number_is_refused_and_changes_nothing(
    item_table: ItemTable, engine: str, value: object
) -> None:
    if engine == "moto":
        pytest.skip(MOTO_HALF_UPDATES)
    await item_table.put(Put(KEY, {"turns": value}))  # pyright: ignore[reportArgumentType]

    with pytest.raises(InvalidRequestError):
        await item_table.update(Update(KEY, add={"turns": 1}, set={"name": "Anna"}))

    item = await item_table.get(KEY)
    assert item is not None
    assert (item.body, item.version) == ({"turns": value}, 1)


async def test_an_update_that_makes_the_item_too_large_is_refused(item_table: ItemTable, engine: str) -> None:
    if engine == "moto":
        pytest.skip(MOTO_HALF_UPDATES)
    await item_table.put(Put(KEY, {"first": "x" * 300_000}))

    with pytest.raises(TooLargeError):
        await item_table.update(Update(KEY, set={"second": "x" * 300_000}))

    item = await item_table.get(KEY)
    assert item is not None
    assert (list(item.body), item.version) == (["first"], 1)
