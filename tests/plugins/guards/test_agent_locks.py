"""Locks among agents: one at a time, nobody waits for ever, and who waits for each other is refused at once."""

import asyncio
import threading

import pytest

from agent_plugins.guards.agent_locks import AgentLocks, LockNotFreeError
from agent_plugins.guards.loop_guards import Guards
from tests.plugins.fake_monotonic import FakeMonotonic

TIMEOUT_SECONDS = 30.0


@pytest.fixture
def guards(monotonic: FakeMonotonic) -> Guards:
    return Guards(monotonic=monotonic)


@pytest.fixture
def locks(guards: Guards) -> AgentLocks:
    return AgentLocks(guards)


def test_threads_hold_a_lock_one_at_a_time(locks: AgentLocks) -> None:
    inside, most = 0, 0

    def work(name: str) -> None:
        nonlocal inside, most
        for _ in range(3):
            with locks.hold("cart", name, timeout=TIMEOUT_SECONDS):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work, args=(f"agent {number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == 1


@pytest.mark.anyio
async def test_a_lock_that_is_not_released_is_not_waited_for_for_ever(locks: AgentLocks, guards: Guards) -> None:
    held = pytest.raises(LockNotFreeError, match='"cart" is held by "orders" for 0 s')
    with locks.hold("cart", "orders"), held:
        async with locks.hold_async("cart", "search", timeout=0.02):
            pass

    async with locks.hold_async("cart", "search", timeout=0):
        assert guards.counts()["deadlock"] == 0


@pytest.mark.anyio
async def test_agents_that_would_wait_for_each_other_are_refused_at_once(locks: AgentLocks, guards: Guards) -> None:
    async def first() -> None:
        async with locks.hold_async("cart", "orders"):
            both.set()
            async with locks.hold_async("stock", "orders", timeout=TIMEOUT_SECONDS):
                pass

    both = asyncio.Event()
    async with locks.hold_async("stock", "search"):
        other = asyncio.create_task(first())
        await both.wait()
        await asyncio.sleep(0)
        with pytest.raises(LockNotFreeError, match='Nobody can go on: "search" waits for "orders" waits for "search"'):
            async with locks.hold_async("cart", "search", timeout=TIMEOUT_SECONDS):
                pass
    await other

    assert guards.counts()["deadlock"] == 1


@pytest.mark.anyio
async def test_a_cancelled_agent_waits_for_nobody_any_more(locks: AgentLocks, guards: Guards) -> None:
    async def wait() -> None:
        async with locks.hold_async("cart", "search", timeout=TIMEOUT_SECONDS):
            pass

    async with locks.hold_async("cart", "orders"):
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        async with locks.hold_async("stock", "search"):
            assert guards.lock_waited_for("stock", "orders") is None


def test_a_block_that_raises_releases_its_lock(locks: AgentLocks) -> None:
    with pytest.raises(ZeroDivisionError), locks.hold("cart", "orders"):
        _ = 1 // 0

    with locks.hold("cart", "search", timeout=0):
        pass


def test_a_lock_that_is_held_for_too_long_is_reported(
    locks: AgentLocks, guards: Guards, monotonic: FakeMonotonic
) -> None:
    with locks.hold("cart", "orders"):
        monotonic.advance(61)

        assert [found.kind.value for found in guards.locks_held_too_long()] == ["lock_not_released"]
