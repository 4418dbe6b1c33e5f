"""The shared state is in the table: losing Redis, whole, at any moment loses nothing of it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis

from agent_plugins.state import state_saver
from agent_plugins.state.changes import begin_task, fill_slot, finish_step, start_step, take_turn
from agent_plugins.state.session_state import SessionState
from agent_plugins.state.state_coordinator import StateCoordinator
from mcp_memory_server import Scope, Status, open_memory
from tests.engines.servers import RedisServer
from tests.faults.conversations import dynamodb_url, settings, until

if TYPE_CHECKING:
    from tests.stores.tables import DynamoDbTables

pytestmark = pytest.mark.anyio

CHAT = Scope("ana", "chat")
SLOTS = TURNS = 20


@pytest.fixture(params=["sqlite", "dynamodb-local"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite://{tmp_path}/memory.db"
        return
    tables: DynamoDbTables = request.getfixturevalue("dynamodb_local_tables")
    with tables.fresh() as address:
        yield dynamodb_url(address.table, address.endpoint)


async def fill(coordinator: StateCoordinator) -> None:
    await coordinator.update_environment(tier="vip", cart={"items": 3})
    for number in range(SLOTS):
        await coordinator.change(fill_slot(f"slot {number}", number), take_turn())


def is_filled(state: SessionState) -> bool:
    found = len(state.conversation.slots), state.conversation.turn_count, state.environment.tier, state.environment.cart
    return found == (SLOTS, TURNS, "vip", {"items": 3})


def state_row(file: Path) -> tuple[Any, ...]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT version, * FROM items WHERE pk LIKE 'STATES#%'").fetchone()


def put_row_back(file: Path, row: tuple[Any, ...]) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM items WHERE pk LIKE 'STATES#%'")
        connection.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?)", row[1:])


async def until_nothing_waits(coordinator: StateCoordinator) -> None:
    async def holds() -> bool:
        return coordinator.unsaved == 0

    await until(holds, "everything is saved")


async def test_a_redis_that_is_emptied_takes_nothing_of_the_state_with_it(
    table: str, tmp_path: Path, own_redis: RedisServer
) -> None:
    async with open_memory(settings(tmp_path, table=table, sessions=own_redis.url)) as memory:
        running = StateCoordinator(memory, CHAT)
        await fill(running)

        with closing(Redis.from_url(own_redis.url)) as redis:
            redis.flushall()
        flushed = await running.refresh()
        own_redis.kill()
        own_redis.start()
        restarted = await StateCoordinator(memory, CHAT).refresh()
        next_change = await running.change(fill_slot("slot 0", "new"))

    assert [one.status for one in (flushed, restarted, next_change)] == [Status.COMPLETE] * 3
    assert is_filled(flushed.state)
    assert is_filled(restarted.state)
    assert is_filled(next_change.state)


async def test_a_state_is_saved_and_read_while_there_is_no_redis(tmp_path: Path, own_redis: RedisServer) -> None:
    own_redis.kill()
    async with open_memory(settings(tmp_path, sessions=own_redis.url)) as memory:
        await fill(StateCoordinator(memory, CHAT))

        found = await StateCoordinator(memory, CHAT).refresh()

    assert (found.status, is_filled(found.state)) == (Status.COMPLETE, True)


async def test_a_table_that_was_restored_from_a_backup_gets_the_newer_state_of_a_running_coordinator(
    tmp_path: Path,
) -> None:
    file = tmp_path / "memory.db"
    async with open_memory(settings(tmp_path)) as memory:
        running = StateCoordinator(memory, CHAT)
        await running.change(fill_slot("size", "L"))
        older = state_row(file)
        await fill(running)
        put_row_back(file, older)

        refreshed = await running.refresh()
        found = await StateCoordinator(memory, CHAT).refresh()

    assert refreshed.status is Status.COMPLETE
    assert refreshed.state == found.state
    assert len(found.state.conversation.slots) == SLOTS + 1


async def test_a_state_that_began_after_another_was_erased_is_not_replaced_by_that_one(tmp_path: Path) -> None:
    async with open_memory(settings(tmp_path)) as memory:
        running, other = StateCoordinator(memory, CHAT), StateCoordinator(memory, CHAT)
        for number in range(5):
            await running.change(fill_slot(f"secret {number}", number))
        await memory.erasure.forget_user(Scope("ana"))
        await other.change(fill_slot("size", "L"))

        found = await running.refresh()

    assert set(found.state.conversation.slots) == {"size"}


async def test_a_turn_with_many_steps_is_one_write(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    async with open_memory(settings(tmp_path)) as memory:
        running = StateCoordinator(memory, CHAT)
        await running.change(take_turn())
        before = state_row(file)[0]

        running.change_soon(begin_task("order", budget=60))
        for number in range(6):
            running.change_soon(start_step(f"step {number}", "search"))
            await running.refresh()  # as before each call of the model
            running.change_soon(finish_step(f"step {number}", "found"))
        seen = running.state.task
        await running.change(take_turn())
        after = state_row(file)[0]
        found = (await StateCoordinator(memory, CHAT).refresh()).state

    assert seen is not None
    assert after - before == 1
    assert (found.conversation.turn_count, len(found.task.steps) if found.task else 0) == (2, 6)
    assert running.unsaved == 0


async def test_steps_are_saved_soon_although_no_change_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_saver, "MAY_WAIT_SECONDS", 0.01)
    async with open_memory(settings(tmp_path)) as memory:
        running = StateCoordinator(memory, CHAT)
        running.change_soon(begin_task("order", budget=60))
        await until_nothing_waits(running)

        found = (await StateCoordinator(memory, CHAT).refresh()).state

    assert found.task is not None


async def test_steps_that_wait_are_saved_when_the_coordinator_is_closed(tmp_path: Path) -> None:
    async with open_memory(settings(tmp_path)) as memory:
        running = StateCoordinator(memory, CHAT)
        running.change_soon(begin_task("order", budget=60))
        await running.close()

        found = (await StateCoordinator(memory, CHAT).refresh()).state

    assert found.task is not None
