"""What is true of SQLite only: its clock, its file, and what a restart of the machine means."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.adapters.sqlite.session_memory import SqliteSessionMemory
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import CacheContext, CacheMiss
from mcp_memory_server.domain.sessions.limits import STATE_LIFE, Limits, Tier, lifetime
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.errors import CacheUnavailableError, ConfigurationError, InvalidRequestError
from tests.clock import FakeClock
from tests.stores.sessions import (
    AT_ONCE,
    EPOCH,
    a_turn,
    append,
    begin,
    copy_of,
    fill,
    served,
    token_for,
    try_to_append,
    turns_in_order,
)

pytestmark = pytest.mark.anyio

MOMENT = timedelta(milliseconds=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "sessions.db"


@pytest.fixture
async def memory(path: Path, clock: FakeClock) -> AsyncIterator[SqliteSessionMemory]:
    memory = await SqliteSessionMemory.open(path, now=clock, deadline=timedelta(seconds=30), settling=AT_ONCE)
    yield memory
    await memory.close()


@pytest.mark.parametrize("tier", Tier)
@pytest.mark.parametrize("depth", [1, 10])
async def test_a_session_lives_as_long_as_its_tier_and_depth_say(
    memory: SqliteSessionMemory, clock: FakeClock, scope: Scope, tier: Tier, depth: int
) -> None:
    await begin(memory, scope, copy_of(turns_in_order(1), count=depth - 1), tier=tier, now=clock())
    await append(memory, scope, tier=tier, now=clock())

    clock.advance(lifetime(tier, depth) - MOMENT)
    assert await served(memory, scope)
    clock.advance(MOMENT)
    assert await token_for(memory, scope)


async def test_after_the_end_nothing_is_known_of_the_copy(
    memory: SqliteSessionMemory, clock: FakeClock, scope: Scope
) -> None:
    await begin(memory, scope, now=clock())
    await append(memory, scope, operation="once", now=clock())
    clock.advance(timedelta(hours=1))

    assert await try_to_append(memory, scope, operation="once", now=clock()) is None
    again = await append(memory, scope, operation="once", now=clock(), after="")

    assert (again.repeated, again.count) == (False, 0)
    assert await token_for(memory, scope)


async def test_a_session_has_settled_when_its_time_is_over(path: Path, clock: FakeClock, scope: Scope) -> None:
    memory = await SqliteSessionMemory.open(path, now=clock, settling=timedelta(seconds=1))
    token = await token_for(memory, scope)

    clock.advance(timedelta(milliseconds=999))
    assert await memory.cache.load(scope, epoch=EPOCH) == CacheMiss(token, may_be_filled=False)
    assert not await fill(memory, scope, copy_of(()), token, now=clock())
    clock.advance(MOMENT)
    assert await memory.cache.load(scope, epoch=EPOCH) == CacheMiss(token, may_be_filled=True)
    assert await fill(memory, scope, copy_of(()), token, now=clock())

    await memory.close()


async def test_there_is_no_outbox_in_this_file(memory: SqliteSessionMemory, clock: FakeClock, scope: Scope) -> None:
    write, context = TurnWrite(scope, a_turn(), "once"), CacheContext(Tier.STANDARD, Limits(), clock(), EPOCH)

    with pytest.raises(InvalidRequestError, match="outbox"):
        await memory.append(write, context, enqueue=True)


async def test_a_state_lives_two_hours_from_the_last_turn_or_write(
    memory: SqliteSessionMemory, clock: FakeClock, scope: Scope
) -> None:
    await memory.states.write(scope, "x", expected_version=0)
    clock.advance(STATE_LIFE - MOMENT)
    await append(memory, scope, now=clock(), after="")
    clock.advance(STATE_LIFE - MOMENT)
    assert (await memory.states.read(scope)).value == "x"

    clock.advance(MOMENT)

    assert (await memory.states.read(scope)).version == 0


async def test_what_has_expired_is_deleted_when_the_file_is_opened_again(
    path: Path, clock: FakeClock, scope: Scope
) -> None:
    memory = await SqliteSessionMemory.open(path, now=clock, settling=AT_ONCE)
    await append(memory, scope, now=clock(), after="")
    await memory.states.write(scope, "x", expected_version=0)
    await memory.close()
    clock.advance(timedelta(days=1))

    memory = await SqliteSessionMemory.open(path, now=clock, settling=AT_ONCE)
    due = await memory.deadlines.due(clock(), limit=10)
    await memory.close()

    assert due == [scope]
    with closing(sqlite3.connect(path)) as connection:
        tables = ("sessions", "turns", "recorded", "operations", "states")
        assert [connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in tables] == [(0,)] * 5


async def test_a_copy_outlives_the_process_but_not_the_machine(path: Path, clock: FakeClock, scope: Scope) -> None:
    memory = await SqliteSessionMemory.open(path, now=clock, settling=AT_ONCE)
    await begin(memory, scope, now=clock())
    await memory.close()

    memory = await SqliteSessionMemory.open(path, now=clock, settling=AT_ONCE)
    assert await served(memory, scope)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE sessions SET run = 'another start of the machine'")

    assert await try_to_append(memory, scope, now=clock()) is None
    await begin(memory, scope, now=clock())
    assert await served(memory, scope)
    await memory.close()


async def test_the_file_and_its_folder_are_the_owners_only(memory: SqliteSessionMemory, path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def test_a_damaged_file_is_made_anew(path: Path, clock: FakeClock, scope: Scope) -> None:
    memory = await SqliteSessionMemory.open(path, now=clock, settling=AT_ONCE)
    await begin(memory, scope, now=clock())
    await memory.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))

    memory = await SqliteSessionMemory.open(path, now=clock, settling=AT_ONCE)

    await begin(memory, scope, now=clock())
    await memory.close()


async def test_a_file_of_an_earlier_release_is_made_anew(path: Path, clock: FakeClock, scope: Scope) -> None:
    memory = await SqliteSessionMemory.open(path, now=clock, settling=AT_ONCE)
    await begin(memory, scope, now=clock())
    await memory.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")

    memory = await SqliteSessionMemory.open(path, now=clock, settling=AT_ONCE)

    assert await token_for(memory, scope)
    await memory.close()


async def test_a_turn_that_cannot_be_read_makes_the_copy_one_that_is_filled_again(
    memory: SqliteSessionMemory, path: Path, clock: FakeClock, scope: Scope
) -> None:
    copy = copy_of(turns_in_order(2))
    await begin(memory, scope, copy, now=clock())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE turns SET text = '{}'")

    await begin(memory, scope, copy, now=clock())

    assert await served(memory, scope) == copy


async def test_a_file_that_is_not_ours_is_refused_and_left_untouched(path: Path) -> None:
    table = await SqliteItemTable.open(path)
    await table.close()
    before = path.read_bytes()

    with pytest.raises(ConfigurationError, match="another program"):
        await SqliteSessionMemory.open(path)

    assert path.read_bytes() == before


async def test_a_file_that_is_no_database_is_refused_and_left_untouched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("notes")

    with pytest.raises(ConfigurationError, match="move it away"):
        await SqliteSessionMemory.open(path)

    assert path.read_text() == "notes"


async def test_a_file_that_was_moved_away_is_unavailable(
    memory: SqliteSessionMemory, path: Path, clock: FakeClock, scope: Scope
) -> None:
    await begin(memory, scope, now=clock())
    path.rename(path.with_name("elsewhere.db"))

    with pytest.raises(CacheUnavailableError, match="moved"):
        await memory.cache.load(scope, epoch=EPOCH)
    with pytest.raises(CacheUnavailableError, match="moved"):
        await append(memory, scope, now=clock())


async def test_a_file_that_another_process_holds_for_too_long_is_unavailable(
    path: Path, clock: FakeClock, scope: Scope
) -> None:
    memory = await SqliteSessionMemory.open(path, now=clock, deadline=timedelta(milliseconds=100))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")

        with pytest.raises(CacheUnavailableError):
            await append(memory, scope, now=clock())
    await memory.close()
