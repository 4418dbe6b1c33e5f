"""One state for all agents of a session: no change is lost, none is applied twice, and listeners are called."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from agent_plugins.state.changes import begin_task, enter_phase, fill_slot, need_slot, need_slots, start_step, take_turn
from agent_plugins.state.phases import Phase
from agent_plugins.state.session_state import SessionState
from agent_plugins.state.state_coordinator import StateCoordinator
from agent_plugins.state.token_budget import split_budget
from mcp_memory_server import (
    InvalidRequestError,
    Memory,
    NewTurn,
    Role,
    Scope,
    Settings,
    Status,
    count_tokens,
    open_memory,
)
from tests.plugins.fake_monotonic import FakeMonotonic

pytestmark = pytest.mark.anyio

CHAT = Scope("ana", "chat")
TIMEOUT_SECONDS = 30


@pytest.fixture(params=["sqlite", "redis"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Memory]:
    sessions = "none"
    if request.param == "redis":
        sessions = request.getfixturevalue("shared_redis").url
    async with open_memory(Settings(table=f"sqlite://{tmp_path}/memory.db", sessions=sessions)) as memory:
        yield memory


async def heard_of(coordinator: StateCoordinator) -> SessionState:
    """Wait until somebody else has changed something, and return what it is now."""
    received: Future[SessionState] = Future()
    end = coordinator.listen(lambda _before, now: received.set_result(now))
    try:
        return await asyncio.wait_for(asyncio.wrap_future(received), TIMEOUT_SECONDS)
    finally:
        end()


async def test_agents_that_fill_different_slots_at_the_same_time_lose_nothing(memory: Memory) -> None:
    agents = [StateCoordinator(memory, CHAT) for _ in range(8)]

    saved = await asyncio.gather(
        *(
            agent.change(fill_slot(f"{number}/{slot}", slot))
            for number, agent in enumerate(agents)
            for slot in range(10)
        )
    )

    assert {each.status for each in saved} == {Status.COMPLETE}
    state = (await StateCoordinator(memory, CHAT).refresh()).state
    assert len(state.conversation.slots) == 80


async def test_changes_given_together_all_happen_or_none(memory: Memory) -> None:
    coordinator = StateCoordinator(memory, CHAT)

    with pytest.raises(InvalidRequestError, match="does not go from follow_up to greeting"):
        await coordinator.change(take_turn(), enter_phase(Phase.GREETING))
    saved = await coordinator.change(take_turn(), enter_phase(Phase.SLOT_FILLING), enter_phase(Phase.FAREWELL))

    assert (saved.state.conversation.turn_count, saved.state.conversation.phase) == (1, Phase.FAREWELL)


async def test_a_change_that_fails_fails_alone(memory: Memory) -> None:
    coordinator = StateCoordinator(memory, CHAT)

    results = await asyncio.gather(
        coordinator.change(take_turn()),
        coordinator.change(enter_phase(Phase.GREETING)),
        coordinator.change(lambda _: {}["nothing"]),
        coordinator.change(take_turn()),
        return_exceptions=True,
    )

    assert [type(result).__name__ for result in results] == ["Saved", "InvalidRequestError", "KeyError", "Saved"]
    assert (await coordinator.refresh()).state.conversation.turn_count == 2


async def test_a_repeated_operation_is_recognised_also_by_another_process(memory: Memory) -> None:
    first = await StateCoordinator(memory, CHAT).change(take_turn(), operation_id="message-1")
    again = await StateCoordinator(memory, CHAT).change(take_turn(), operation_id="message-1")
    other = await StateCoordinator(memory, CHAT).change(take_turn(), operation_id="message-2")

    assert [saved.repeated for saved in (first, again, other)] == [False, True, False]
    assert other.state.conversation.turn_count == 2


async def test_agents_cannot_change_the_environment_and_the_host_can(memory: Memory) -> None:
    coordinator = StateCoordinator(memory, CHAT)

    def sneak(state: SessionState) -> SessionState:
        return SessionState(state.conversation, state.task, state.environment.updated({"tier": "vip"}))

    with pytest.raises(InvalidRequestError, match="agents cannot change the environment"):
        await coordinator.change(sneak)
    await coordinator.update_environment(tier="vip", cart={"items": 1})

    assert (await StateCoordinator(memory, CHAT).refresh()).state.environment.cart == {"items": 1}
    with pytest.raises(InvalidRequestError, match="cart has 9,002 characters, at most 8,000 fit"):
        await coordinator.update_environment(cart="x" * 9000)


async def test_what_is_no_plain_data_is_refused_and_nothing_is_kept_of_it(memory: Memory) -> None:
    coordinator = StateCoordinator(memory, CHAT)

    with pytest.raises(InvalidRequestError, match="must be plain data"):
        await coordinator.change(lambda state: SessionState(state.conversation, more={"odd": {1, 2}}))

    assert (await coordinator.change(take_turn())).status is Status.COMPLETE


async def test_a_cart_that_is_updated_elsewhere_reaches_agents_that_run(memory: Memory) -> None:
    running, shop = StateCoordinator(memory, CHAT), StateCoordinator(memory, CHAT)
    await running.change(take_turn())
    before = running.to_agent_context(agent="orders")

    with running.watching():
        hearing = asyncio.create_task(heard_of(running))
        await asyncio.sleep(0)
        await shop.update_environment(cart={"items": 2})
        await hearing
        text, later = (running.to_agent_context(agent="orders") for _ in range(2))

    assert "cart" not in before
    assert '- cart (changed since you last looked): {"items": 2}' in text
    assert '- cart: {"items": 2}' in later


async def test_a_listener_that_fails_or_has_ended_stops_nobody(memory: Memory) -> None:
    running, other = StateCoordinator(memory, CHAT), StateCoordinator(memory, CHAT)
    heard: list[int] = []
    running.listen(lambda _before, _now: {}["nothing"])
    running.listen(lambda _before, now: heard.append(now.conversation.turn_count))
    running.listen(lambda _before, _now: heard.append(-1))()

    await other.change(take_turn())
    await running.refresh()
    await running.change(take_turn())

    assert heard == [1]


async def test_several_may_watch_and_the_last_to_end_stops_it(memory: Memory) -> None:
    running, other = StateCoordinator(memory, CHAT), StateCoordinator(memory, CHAT)

    with running.watching():
        with running.watching():
            pass
        hearing = asyncio.create_task(heard_of(running))
        await asyncio.sleep(0)
        await other.change(take_turn())
        assert (await hearing).conversation.turn_count == 1
        assert running.is_watched

    assert not running.is_watched
    await running.close()


async def test_code_that_is_not_async_uses_it_from_many_threads(memory: Memory) -> None:
    coordinator = StateCoordinator(memory, CHAT)

    def work(number: int) -> None:
        for turn in range(10):
            coordinator.change_now(take_turn(), fill_slot(str(number), turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    await asyncio.gather(*(asyncio.to_thread(thread.join) for thread in threads))

    state = (await coordinator.refresh()).state.conversation
    assert (state.turn_count, {slot.value for slot in state.slots.values()}) == (100, {9})


async def test_event_loops_that_come_and_go_use_it_one_after_another(memory: Memory) -> None:
    coordinator = StateCoordinator(memory, CHAT)

    for _ in range(3):
        await asyncio.to_thread(asyncio.run, coordinator.change(take_turn()))  # type: ignore[arg-type]

    assert coordinator.state.conversation.turn_count == 3


async def test_a_caller_that_leaves_does_not_stop_what_others_save(memory: Memory) -> None:
    coordinator = StateCoordinator(memory, CHAT)

    leaving = [asyncio.create_task(coordinator.change(take_turn())) for _ in range(5)]
    staying = [asyncio.create_task(coordinator.change(fill_slot(str(number), 1))) for number in range(5)]
    await asyncio.sleep(0)
    for task in leaving:
        task.cancel()
    saved = await asyncio.gather(*staying)

    assert {each.status for each in saved} == {Status.COMPLETE}
    assert len(saved[-1].state.conversation.slots) == 5


async def test_waiting_on_the_loop_itself_is_refused_before_it_hangs(memory: Memory) -> None:
    running, other = StateCoordinator(memory, CHAT), StateCoordinator(memory, CHAT)
    errors: list[Exception] = []

    def listener(_before: SessionState, _now: SessionState) -> None:
        try:
            running.refresh_now()
        except InvalidRequestError as error:
            errors.append(error)

    running.listen(listener)
    await other.change(take_turn())
    await running.refresh()

    assert [str(error) for error in errors] == ["this would wait for itself for ever; await the async method instead"]


async def test_the_time_left_is_measured_even_if_the_clock_is_set(memory: Memory) -> None:
    monotonic, wall = FakeMonotonic(), FakeMonotonic()
    wall.advance(1000)
    coordinator = StateCoordinator(memory, CHAT, now=wall, monotonic=monotonic)
    await coordinator.change(begin_task("order", budget=60, now=wall()))
    assert coordinator.remaining() == 60

    wall.advance(-500)
    monotonic.advance(70)

    assert coordinator.remaining() == -10
    assert "10 s over budget" in coordinator.to_agent_context()


async def test_a_task_that_another_process_began_has_the_time_that_is_left_of_it(memory: Memory) -> None:
    await StateCoordinator(memory, CHAT).change(begin_task("order", budget=60, now=1000.0))
    late = StateCoordinator(memory, CHAT, now=lambda: 1045.0, monotonic=FakeMonotonic())

    await late.refresh()

    assert late.remaining() == 15


async def test_state_and_memory_share_one_budget(memory: Memory) -> None:
    coordinator = StateCoordinator(memory, CHAT)
    empty = split_budget(coordinator, 600)
    await coordinator.change(need_slots(*(f"a rather long name of slot {number}" for number in range(100))))
    await coordinator.change(fill_slot("size", "L"))

    text, left = split_budget(coordinator, 600)
    page = await memory.context.load(CHAT, max_tokens=left)

    assert empty[1] >= 500
    assert count_tokens(text) <= 200
    assert count_tokens(text) + left == 600
    assert page.status is Status.COMPLETE


async def test_the_host_may_give_the_environment_fields_of_its_own(memory: Memory) -> None:
    coordinator, other = StateCoordinator(memory, CHAT), StateCoordinator(memory, CHAT)

    await coordinator.update_environment(store="Lisbon", tier="vip")
    seen = (await other.refresh()).state.environment
    text = other.to_agent_context()
    removed = await other.update_environment(store=None)

    assert (seen["store"], seen["tier"], seen["weather"]) == ("Lisbon", "vip", None)
    assert '- known: "store" = "Lisbon"' in text
    assert removed.state.environment.more == {}
    with pytest.raises(InvalidRequestError, match="at most 30 fields of the host's own, got 31"):
        await coordinator.update_environment(**{f"field{number}": 1 for number in range(31)})


async def test_a_step_times_out_although_the_process_that_ran_it_is_gone(memory: Memory) -> None:
    clock = FakeMonotonic()
    dead, alive = StateCoordinator(memory, CHAT, now=clock), StateCoordinator(memory, CHAT, now=clock)
    await dead.change(begin_task("find", now=clock()), start_step("find", "search", timeout=5, now=clock()))

    clock.advance(6)
    await alive.refresh()

    assert '- timed out: "find": "search did not answer within 5 s"' in alive.to_agent_context()
    saved = await alive.change(take_turn())
    assert (await memory.states.read(CHAT)).value["task"]["steps"]["find"]["status"] == "timed_out"
    assert saved.state.conversation.phase is Phase.FOLLOW_UP


async def test_the_state_as_plain_data_says_what_is_missing_and_what_to_ask(memory: Memory) -> None:
    coordinator = StateCoordinator(memory, CHAT)
    await coordinator.change(need_slot("size", question="Which size?", values=["S", "M"]), begin_task("order"))

    shown = json.loads(json.dumps(coordinator.to_dict()))

    assert (shown["user_id"], shown["session_id"], shown["status"]) == ("ana", "chat", "complete")
    assert shown["conversation"]["phase"] == "slot_filling"
    assert shown["conversation"]["missing_slots"] == ["size"]
    assert shown["conversation"]["next_question"] == "Which size?"
    assert shown["conversation"]["slots"]["size"]["values"] == ["S", "M"]
    assert shown["task"]["goal"] == "order"


@pytest.mark.parametrize(("memory_given", "scope"), [("memory.db", CHAT), (None, "ana")])
async def test_arguments_of_a_wrong_type_are_refused_at_once(memory_given: Any, scope: Any, memory: Memory) -> None:
    with pytest.raises(InvalidRequestError, match="must be"):
        StateCoordinator(memory_given or memory, scope)


async def test_users_with_the_same_session_id_share_nothing(memory: Memory) -> None:
    await StateCoordinator(memory, Scope("ana", "1")).change(fill_slot("secret", "x"))

    assert (await StateCoordinator(memory, Scope("bo", "1")).refresh()).state == SessionState()


async def test_a_scope_without_a_session_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidRequestError, match="the scope names none"):
        StateCoordinator(memory, Scope("ana"))


async def test_what_was_forgotten_with_a_user_does_not_come_back(memory: Memory) -> None:
    coordinator = StateCoordinator(memory, CHAT)
    await memory.conversations.append(CHAT, NewTurn(Role.USER, "Hello."))
    await coordinator.change(fill_slot("secret", "x"))

    await memory.erasure.forget_user(Scope("ana"))
    saved = await coordinator.change(take_turn())

    assert "secret" not in saved.state.conversation.slots


async def test_a_change_of_a_state_that_was_read_needs_no_second_read(memory: Memory) -> None:
    coordinator = StateCoordinator(memory, CHAT)
    await coordinator.refresh()

    with patch.object(memory.table, "get", side_effect=AssertionError("read again")):
        saved = await coordinator.change(take_turn())

    elsewhere = StateCoordinator(memory, CHAT)
    await elsewhere.refresh()
    assert saved.status is Status.COMPLETE
    assert elsewhere.state.conversation.turn_count == 1


async def test_a_change_of_a_state_that_another_process_has_changed_since_keeps_both(memory: Memory) -> None:
    coordinator, elsewhere = StateCoordinator(memory, CHAT), StateCoordinator(memory, CHAT)
    await coordinator.refresh()
    await elsewhere.change(fill_slot("title", "Dune", confirmed=True))

    saved = await coordinator.change(take_turn())

    assert saved.state.conversation.slots["title"].value == "Dune"
    assert saved.state.conversation.turn_count == 1
