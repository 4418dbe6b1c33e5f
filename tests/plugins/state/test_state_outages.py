"""A store of states that is down stops no agent: changes are applied locally, reported as such, and saved later."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_plugins.state import state_saver
from agent_plugins.state.changes import enter_phase, fill_slot, take_turn
from agent_plugins.state.conversation_state import Phase
from agent_plugins.state.session_state import REMEMBERED_OPERATIONS
from agent_plugins.state.state_coordinator import StateCoordinator
from mcp_memory_server import Memory, Scope, Settings, Status, UnavailableError, open_memory
from tests.engines.http_proxy import Asked, Fate, HttpProxy, always
from tests.faults.conversations import dynamodb_url, until
from tests.stores.tables import DynamoDbAddress, DynamoDbTables

pytestmark = pytest.mark.anyio

CHAT = Scope("ana", "chat")


@pytest.fixture
def table(dynamodb_local_tables: DynamoDbTables) -> Iterator[DynamoDbAddress]:
    with dynamodb_local_tables.fresh() as address:
        yield address


def settings(folder: Path) -> Settings:
    return Settings(table=f"sqlite://{folder}/memory.db")


def through(proxy: HttpProxy, table: DynamoDbAddress) -> Settings:
    return Settings(table=dynamodb_url(table.table, proxy.endpoint))


async def until_saved(coordinator: StateCoordinator) -> None:
    async def holds() -> bool:
        return coordinator.unsaved == 0

    await until(holds, "everything is saved")


async def test_changes_made_while_the_table_is_away_are_saved_when_it_is_back_beside_those_of_others(
    table: DynamoDbAddress,
) -> None:
    async with HttpProxy(table.endpoint) as proxy, open_memory(through(proxy, table)) as memory:
        one, other = StateCoordinator(memory, CHAT), StateCoordinator(memory, CHAT)
        await one.change(take_turn())
        proxy.decide(always(Fate.HANGS))
        away = [await one.change(take_turn(), fill_slot("size", "L")), await one.change(fill_slot("colour", "red"))]
        context = one.to_agent_context()
        proxy.decide(always(Fate.PASSES))
        await until_saved(one)
        await other.change(fill_slot("brand", "any"))
        found = (await one.refresh()).state.conversation

    assert [saved.status for saved in away] == [Status.UNAVAILABLE, Status.UNAVAILABLE]
    assert away[1].state.conversation.slots["size"].value == "L"
    assert "- shared state: unavailable;" in context
    assert (found.turn_count, set(found.slots), one.status) == (2, {"size", "colour", "brand"}, Status.COMPLETE)


async def test_only_the_first_call_waits_for_a_memory_that_is_away(
    table: DynamoDbAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[None] = []
    async with HttpProxy(table.endpoint) as proxy, open_memory(through(proxy, table)) as memory:

        async def counted() -> Memory:
            asked.append(None)
            return memory

        monkeypatch.setattr(state_saver, "REST_SECONDS", 3600.0)
        coordinator = StateCoordinator(counted, CHAT)
        proxy.decide(always(Fate.HANGS))
        saved = [await coordinator.change(take_turn()) for _ in range(50)]

    assert {each.status for each in saved} == {Status.UNAVAILABLE}
    assert saved[-1].state.conversation.turn_count == 50
    assert len(asked) == 1


async def test_a_change_that_cannot_be_applied_when_the_memory_is_back_is_dropped_and_the_status_says_so(
    table: DynamoDbAddress,
) -> None:
    async with HttpProxy(table.endpoint) as proxy, open_memory(through(proxy, table)) as memory:
        one, other = StateCoordinator(memory, CHAT), StateCoordinator(memory, CHAT)
        await one.change(enter_phase(Phase.SLOT_FILLING))
        proxy.decide(always(Fate.HANGS))
        await one.change(enter_phase(Phase.TOOL_EXECUTION))
        proxy.decide(always(Fate.PASSES))
        await other.change(enter_phase(Phase.HANDOFF))
        await until_saved(one)

    assert one.state.conversation.phase is Phase.HANDOFF
    assert one.status is Status.PARTIAL
    assert "- shared state: partial;" in one.to_agent_context()


async def test_a_write_whose_answer_was_lost_happens_once_whatever_others_write(table: DynamoDbAddress) -> None:
    async with HttpProxy(table.endpoint) as proxy, open_memory(through(proxy, table)) as memory:
        coordinator = StateCoordinator(memory, CHAT)
        await coordinator.change(take_turn())
        proxy.decide(lost_once(proxy))
        lost = await coordinator.change(take_turn(), operation_id="lost")
        async with open_memory(Settings(table=dynamodb_url(table.table, table.endpoint))) as others:
            other = StateCoordinator(others, CHAT)
            for number in range(2 * REMEMBERED_OPERATIONS):
                await other.change(take_turn(), operation_id=str(number))
        proxy.decide(always(Fate.PASSES))
        again = asyncio.create_task(coordinator.change(take_turn(), operation_id="lost"))
        await until_saved(coordinator)
        await again
        found = (await coordinator.refresh()).state.conversation

    assert (proxy.met["PutItem", Fate.LOSES_ITS_REPLY], lost.status) == (1, Status.UNAVAILABLE)
    assert found.turn_count == 2 + 2 * REMEMBERED_OPERATIONS


def lost_once(proxy: HttpProxy) -> Callable[[Asked], Fate]:
    """Lose the reply to the first write, and answer nothing that is asked after it."""

    def decide(asked: Asked) -> Fate:
        if proxy.met["PutItem", Fate.LOSES_ITS_REPLY]:
            return Fate.HANGS
        return Fate.LOSES_ITS_REPLY if asked.operation == "PutItem" else Fate.PASSES

    return decide


async def test_a_memory_that_cannot_be_opened_stops_nobody() -> None:
    async def closed() -> Memory:
        raise UnavailableError("it was closed")

    coordinator = StateCoordinator(closed, CHAT)

    saved = await coordinator.change(fill_slot("size", "L"))

    assert (saved.status, saved.state.conversation.slots["size"].value) == (Status.UNAVAILABLE, "L")


async def test_a_foreign_value_in_the_session_is_not_overwritten(tmp_path: Path) -> None:
    async with open_memory(settings(tmp_path)) as memory:
        await memory.states.write(CHAT, ["not", "ours"], expected_version=0)

        saved = await StateCoordinator(memory, CHAT).change(take_turn())

        assert saved.status is Status.UNAVAILABLE
        assert (await memory.states.read(CHAT)).value == ["not", "ours"]


async def test_after_closing_nothing_is_tried_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_saver, "REST_SECONDS", 0.01)
    asked: list[None] = []

    async def closed() -> Memory:
        asked.append(None)
        raise UnavailableError("it was closed")

    coordinator = StateCoordinator(closed, CHAT)
    await coordinator.change(take_turn())
    await coordinator.close()
    tries = len(asked)
    await asyncio.sleep(0.1)  # in which it would have been tried again many times

    assert (len(asked), coordinator.unsaved) == (tries, 1)


async def test_unsaved_changes_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_saver, "MOST_UNSAVED", 3)

    async def down() -> Memory:
        raise UnavailableError("it is down")

    coordinator = StateCoordinator(down, CHAT)
    for _ in range(5):
        await coordinator.change(take_turn())

    assert coordinator.unsaved == 3


async def test_a_file_that_is_locked_for_a_while_loses_nothing(tmp_path: Path) -> None:
    async with open_memory(settings(tmp_path)) as memory:
        coordinator = StateCoordinator(memory, CHAT)
        await coordinator.change(take_turn())
        lock = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
        waiting = asyncio.create_task(coordinator.change(take_turn()))
        assert (await waiting).status is Status.UNAVAILABLE
        lock.execute("ROLLBACK")
        lock.close()
        await until_saved(coordinator)

        assert (await StateCoordinator(memory, CHAT).refresh()).state.conversation.turn_count == 2
