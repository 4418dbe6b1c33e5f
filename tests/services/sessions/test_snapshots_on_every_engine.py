"""Snapshots keep their promises on every table: whole, of any size, apart by owner and name, erased with the user."""

import asyncio
import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import InvalidRequestError, NotFoundError, TooLargeError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.snapshot_records import name_of, snapshot_key
from mcp_memory_server.services.sessions import snapshots as module
from mcp_memory_server.services.sessions.snapshots import Snapshots
from mcp_memory_server.wiring import running
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

ANNA, BEN = Scope("anna"), Scope("ben")
NAME = "session/s1/snapshot_latest.json"


def incompressible(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


@pytest.fixture
def snapshots(item_table: ItemTable, clock: FakeClock) -> Snapshots:
    return Snapshots(item_table, clock)


@pytest.mark.parametrize("size", [0, 10, 300_000, 1_000_000])
async def test_a_value_comes_back_as_it_was(snapshots: Snapshots, size: int) -> None:
    await snapshots.write(ANNA, NAME, incompressible(size))

    assert await snapshots.read(ANNA, NAME) == incompressible(size)


async def test_a_later_value_replaces_the_earlier_and_leaves_no_parts_behind(
    snapshots: Snapshots, item_table: ItemTable
) -> None:
    await snapshots.write(ANNA, NAME, incompressible(1_000_000))
    await snapshots.write(ANNA, NAME, b"small")

    left = (await item_table.query("SNAP#anna", limit=None)).items
    assert await snapshots.read(ANNA, NAME) == b"small"
    assert len(left) == 1


async def test_a_reader_beside_a_writer_sees_one_whole_value_or_the_other(snapshots: Snapshots) -> None:
    values = [incompressible(700_000, seed) for seed in range(4)]
    await snapshots.write(ANNA, NAME, values[0])

    async def write() -> None:
        for value in values[1:]:
            await snapshots.write(ANNA, NAME, value)

    writing = asyncio.create_task(write())
    while not writing.done():
        assert await snapshots.read(ANNA, NAME) in values
    await writing

    assert await snapshots.read(ANNA, NAME) == values[-1]


async def test_writers_at_once_leave_one_whole_value(snapshots: Snapshots, item_table: ItemTable) -> None:
    values = [incompressible(400_000, seed) for seed in range(4)]

    await asyncio.gather(*(snapshots.write(ANNA, NAME, value) for value in values))

    assert await snapshots.read(ANNA, NAME) in values
    assert len((await item_table.query("SNAP#anna", limit=None)).items) == 3  # one head and the two parts that it names


async def test_names_are_listed_in_order_and_belong_to_their_owner(snapshots: Snapshots) -> None:
    for name in ("b/2", "b/1", "b#1", "a"):
        await snapshots.write(ANNA, name, b"x")
    await snapshots.write(BEN, "b/3", b"x")

    assert await snapshots.names(ANNA, "b/") == ["b/1", "b/2"]
    assert await snapshots.names(ANNA) == ["a", "b#1", "b/1", "b/2"]
    with pytest.raises(NotFoundError):
        await snapshots.read(BEN, "b/1")


async def test_what_is_deleted_or_expired_is_gone(snapshots: Snapshots, clock: FakeClock) -> None:
    await snapshots.write(ANNA, "deleted", incompressible(700_000))
    await snapshots.write(ANNA, "expired", b"x")

    assert [await snapshots.delete(ANNA, "deleted"), await snapshots.delete(ANNA, "deleted")] == [True, False]
    clock.advance(timedelta(days=91))

    assert await snapshots.names(ANNA) == []


async def test_forgetting_the_user_takes_snapshots_along_with_what_an_interrupted_write_left(
    snapshots: Snapshots, item_table: ItemTable, clock: FakeClock
) -> None:
    await snapshots.write(ANNA, NAME, incompressible(700_000))
    head = await item_table.get(snapshot_key(ANNA, NAME))
    assert head is not None
    await item_table.delete(head.key)  # as if the writer had died before it named its parts
    await snapshots.write(BEN, NAME, b"stays")

    async with running(item_table, now=clock) as memory:
        await memory.erasure.forget_user(ANNA)

    assert (await item_table.query("SNAP#anna", limit=None)).items == ()
    assert await snapshots.read(BEN, NAME) == b"stays"


async def test_what_is_too_large_or_has_no_name_is_refused(
    snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_SNAPSHOT_BYTES", 10)

    with pytest.raises(TooLargeError, match="at most 10 bytes"):
        await snapshots.write(ANNA, NAME, b"x" * 11)
    with pytest.raises(InvalidRequestError, match="1 to 900 bytes"):
        await snapshots.write(ANNA, "", b"x")


async def test_the_shape_that_was_stored_first_can_be_read_for_ever(
    snapshots: Snapshots, item_table: ItemTable
) -> None:
    packed = bytes.fromhex("789c2b492d2e512849ad280100122503a6")
    await item_table.put(Put(Key("SNAP#anna", "NAME#whole"), {"packed": packed}))
    await item_table.put(Put(Key("SNAP#anna", "NAME#split"), {"parts": 2, "writing": "w1"}))
    await item_table.put(Put(Key("SNAP#anna", "PART#split#w1#0000"), {"packed": packed[:5]}))
    await item_table.put(Put(Key("SNAP#anna", "PART#split#w1#0001"), {"packed": packed[5:], "later": "unknown"}))

    assert await snapshots.read(ANNA, "whole") == await snapshots.read(ANNA, "split") == b"test text"


@given(st.text(min_size=1, max_size=60).filter(lambda name: name.isprintable()), st.integers(0, 60))
def test_the_stored_name_begins_with_the_stored_form_of_every_beginning(name: str, length: int) -> None:
    key = snapshot_key(ANNA, name)

    assert name_of(key) == name
    assert key.sk.startswith(Key("pk", snapshot_key(ANNA, name[:length] or name[0]).sk).sk)
