"""Copies are trusted only while nobody writes past them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.errors import TableUnavailableError
from mcp_memory_server.services.sessions.cache_epoch import DISCONNECTED_LASTS, LOOKED_AGAIN, SNAPSHOT_LASTS, CacheEpoch
from tests.clock import FakeClock
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio

A_MOMENT = timedelta(milliseconds=1)


@pytest.fixture
async def table(path: Path, clock: FakeClock) -> AsyncIterator[WatchedTable]:
    watched = WatchedTable(await SqliteItemTable.open(path, now=clock))
    yield watched
    await watched.close()


def process(name: str, table: WatchedTable, clock: FakeClock) -> CacheEpoch:
    """Return the trust of one process. Its two clocks are moved together."""
    return CacheEpoch(table.as_table, clock, process=name, monotonic=lambda: clock().timestamp())


async def away(trust: CacheEpoch) -> None:
    """Let a process lose the session cache, and announce it."""
    trust.disconnect()
    await trust.heartbeat()


async def test_at_first_copies_may_use_cache(table: WatchedTable, clock: FakeClock) -> None:
    read_snapshot = await process("one", table, clock).read_snapshot()

    assert (read_snapshot.epoch, read_snapshot.may_use_cache) == (0, True)


async def test_the_table_is_asked_once_for_as_long_as_a_look_lasts(table: WatchedTable, clock: FakeClock) -> None:
    trust = process("one", table, clock)

    for _ in range(10):
        await trust.read_snapshot()
    clock.advance(LOOKED_AGAIN - A_MOMENT)
    await trust.read_snapshot()

    assert table.calls == {"get": 1}


async def test_once_a_process_may_write_past_copies_nobody_serves_one(table: WatchedTable, clock: FakeClock) -> None:
    one, other = process("one", table, clock), process("other", table, clock)
    await other.read_snapshot()
    await away(one)
    served_until_then = (await other.read_snapshot()).may_use_cache

    assert not one.may_bypass_cache()
    clock.advance(SNAPSHOT_LASTS)

    assert served_until_then
    assert one.may_bypass_cache()
    assert not (await other.read_snapshot()).may_use_cache


async def test_coming_back_begins_an_epoch_in_which_copies_are_served_again(
    table: WatchedTable, clock: FakeClock
) -> None:
    one, other = process("one", table, clock), process("other", table, clock)
    before = await other.read_snapshot()
    await away(one)
    meanwhile = await other.refresh()

    await one.reconnect()

    after = await other.refresh()
    assert before.epoch < meanwhile.epoch < after.epoch
    assert after.may_use_cache
    assert not one.is_disconnected
    assert not one.may_bypass_cache()


async def test_while_one_of_two_is_still_away_no_copy_is_served(table: WatchedTable, clock: FakeClock) -> None:
    one, other, third = (process(name, table, clock) for name in ("one", "other", "third"))
    await away(one)
    await away(other)

    await one.reconnect()

    assert not (await third.read_snapshot()).may_use_cache


async def test_a_process_that_dies_while_away_is_given_up_and_copies_of_its_time_are_not_served(
    table: WatchedTable, clock: FakeClock
) -> None:
    one, other = process("one", table, clock), process("other", table, clock)
    await away(one)
    meanwhile = await other.read_snapshot()

    clock.advance(DISCONNECTED_LASTS)

    read_snapshot = await other.read_snapshot()
    assert read_snapshot.may_use_cache
    assert read_snapshot.epoch > meanwhile.epoch
    assert not one.may_bypass_cache()


@pytest.mark.parametrize("hours", [-1, 1])
async def test_clocks_that_differ_by_an_hour_decide_neither_who_is_dead_nor_who_lives(
    table: WatchedTable, clock: FakeClock, hours: int
) -> None:
    wrong = FakeClock(clock() + timedelta(hours=hours))
    one = CacheEpoch(table.as_table, wrong, process="one", monotonic=lambda: clock().timestamp())
    other = process("other", table, clock)
    await away(one)
    for _ in range(12):
        for each in (clock, wrong):
            each.advance(DISCONNECTED_LASTS / 4)
        await one.heartbeat()
        assert not (await other.read_snapshot()).may_use_cache

    clock.advance(DISCONNECTED_LASTS)  # from here on it is dead

    assert (await other.read_snapshot()).may_use_cache


async def test_a_process_at_a_superseded_server_is_disconnected_within_seconds_until_it_uses_that_of_the_others(
    table: WatchedTable, clock: FakeClock
) -> None:
    at = {"one": "master", "other": "master"}
    one, other = (
        CacheEpoch(
            table.as_table, clock, process=name, monotonic=lambda: clock().timestamp(), ping=partial(where, at, name)
        )
        for name in at
    )
    for process_ in (one, other):
        assert (await process_.read_snapshot()).may_use_cache

    at["other"] = "promoted replica"  # the two halves of a network
    clock.advance(LOOKED_AGAIN)
    await other.read_snapshot()
    clock.advance(LOOKED_AGAIN)
    await one.read_snapshot()
    assert (one.is_disconnected, other.is_disconnected) == (True, False)
    await one.heartbeat()
    clock.advance(LOOKED_AGAIN)
    assert not (await other.read_snapshot()).may_use_cache
    assert not await one.may_reconnect()

    at["one"] = "promoted replica"  # healed
    assert await one.may_reconnect()
    await one.reconnect()
    clock.advance(LOOKED_AGAIN)
    assert (await other.read_snapshot()).may_use_cache
    assert (await one.read_snapshot()).may_use_cache


async def test_a_superseded_server_is_used_again_when_nobody_confirms_the_other_one(
    table: WatchedTable, clock: FakeClock
) -> None:
    at = {"one": "master", "other": "master"}
    one, other = (
        CacheEpoch(
            table.as_table, clock, process=name, monotonic=lambda: clock().timestamp(), ping=partial(where, at, name)
        )
        for name in at
    )
    await one.refresh()
    await other.refresh()
    at["other"] = "promoted replica"
    await other.refresh()
    for _ in range(8):
        clock.advance(DISCONNECTED_LASTS / 4)
        await other.refresh()
        assert not await one.may_reconnect()

    clock.advance(DISCONNECTED_LASTS)  # the others are gone

    assert await one.may_reconnect()
    assert (await one.refresh()).may_use_cache


async def where(at: dict[str, str], process_: str) -> str:
    return at[process_]


async def test_a_process_that_stays_away_is_not_given_up(table: WatchedTable, clock: FakeClock) -> None:
    one, other = process("one", table, clock), process("other", table, clock)
    await away(one)

    for _ in range(12):
        clock.advance(DISCONNECTED_LASTS / 4)
        await one.heartbeat()

    assert not (await other.read_snapshot()).may_use_cache
    assert one.may_bypass_cache()


async def test_a_process_that_cannot_tell_anybody_writes_nothing_past_the_copies(
    table: WatchedTable, clock: FakeClock
) -> None:
    one = process("one", table, clock)

    async def no_table() -> None:
        raise TableUnavailableError("the table is down")

    table.before["update"] = no_table
    with pytest.raises(TableUnavailableError):
        await away(one)
    clock.advance(SNAPSHOT_LASTS * 2)

    assert one.is_disconnected
    assert not one.may_bypass_cache()
    await one.heartbeat()
    clock.advance(SNAPSHOT_LASTS)
    assert one.may_bypass_cache()


async def test_a_process_that_lost_the_session_cache_for_a_moment_costs_nobody_a_copy(
    table: WatchedTable, clock: FakeClock
) -> None:
    one, other = process("one", table, clock), process("other", table, clock)
    before = await other.read_snapshot()

    one.disconnect()
    await one.reconnect()

    assert await other.refresh() == replace(before, asked_at=clock().timestamp())
    assert not one.is_disconnected


async def test_a_mark_whose_answer_was_lost_is_taken_away_all_the_same(table: WatchedTable, clock: FakeClock) -> None:
    one, other = process("one", table, clock), process("other", table, clock)
    one.disconnect()
    table.loses_reply_of.add("update")
    with pytest.raises(TableUnavailableError):
        await one.heartbeat()
    assert not (await other.read_snapshot()).may_use_cache

    await one.reconnect()

    assert (await other.refresh()).may_use_cache
