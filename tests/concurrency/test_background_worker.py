"""A background worker starts when woken, goes on after a failure, is replaced after a fork, and closes in time."""

import asyncio
import logging
import os
import threading
from collections.abc import Callable

import pytest

from mcp_memory_server.concurrency.background_worker import BackgroundWorker
from mcp_memory_server.concurrency.event_loop_thread import EventLoopThread
from mcp_memory_server.errors import UnavailableError

pytestmark = pytest.mark.anyio

SECONDS = 30.0


class Rounds:
    """Counts rounds, and does in each what a test wants."""

    def __init__(self, pause: float | None = None, during: Callable[[], object] = lambda: None) -> None:
        self.count = 0
        self.finished = 0
        self.pause = pause
        self._during = during
        self._changed = threading.Condition()

    async def round(self) -> float | None:
        with self._changed:
            self.count += 1
            self._changed.notify_all()
        self._during()
        return self.pause

    async def finish(self) -> None:
        self.finished += 1

    def wait_for(self, count: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.count >= count, SECONDS)

    async def reach(self, count: int) -> bool:
        return await asyncio.to_thread(self.wait_for, count)


def threads_named(name: str) -> int:
    return sum(thread.name == name for thread in threading.enumerate())


async def test_no_thread_runs_before_the_first_wake_or_after_the_end() -> None:
    rounds = Rounds()
    worker = BackgroundWorker("lazy", rounds.round, rounds.finish)
    before = threads_named("lazy")

    worker.wake()
    assert await rounds.reach(1)
    during = threads_named("lazy")
    await worker.close(SECONDS)

    assert (before, during, threads_named("lazy")) == (0, 1, 0)
    assert rounds.finished == 1


async def test_each_wake_is_followed_by_a_round() -> None:
    rounds = Rounds()
    worker = BackgroundWorker("woken", rounds.round)

    for number in range(1, 6):
        worker.wake()
        assert await rounds.reach(number)

    await worker.close(SECONDS)


async def test_a_wake_during_a_round_is_followed_by_another_one() -> None:
    begun, released = threading.Event(), threading.Event()

    def during() -> None:
        begun.set()
        released.wait(SECONDS)

    rounds = Rounds(during=during)
    worker = BackgroundWorker("busy", rounds.round)
    worker.wake()
    await asyncio.to_thread(begun.wait, SECONDS)

    worker.wake()
    released.set()

    assert await rounds.reach(2)
    await worker.close(SECONDS)


async def test_rounds_follow_each_other_after_their_pauses() -> None:
    rounds = Rounds(pause=0.0)
    worker = BackgroundWorker("periodic", rounds.round)

    worker.wake()

    assert await rounds.reach(20)
    await worker.close(SECONDS)


async def test_a_round_that_fails_is_logged_and_does_not_end_the_worker(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("unforeseen")

    rounds = Rounds(during=fail)
    worker = BackgroundWorker("unlucky", rounds.round, rounds.finish)

    with caplog.at_level(logging.ERROR):
        worker.wake()
        assert await rounds.reach(1)
        worker.wake()
        assert await rounds.reach(2)
        await worker.close(SECONDS)

    assert rounds.finished == 1
    assert "unlucky" in caplog.text
    assert "unforeseen" in caplog.text


async def test_closing_waits_for_the_round_and_then_finishes() -> None:
    done: list[str] = []
    begun = threading.Event()

    async def slow() -> None:
        begun.set()
        await asyncio.sleep(0.05)
        done.append("round")

    async def finish() -> None:
        done.append("finish")

    worker = BackgroundWorker("slow", slow, finish)
    worker.wake()
    await asyncio.to_thread(begun.wait, SECONDS)

    await worker.close(SECONDS)

    assert done == ["round", "finish"]


async def test_a_round_that_takes_too_long_is_cancelled_and_the_end_still_comes() -> None:
    begun, finished = threading.Event(), threading.Event()

    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def finish() -> None:
        finished.set()

    worker = BackgroundWorker("endless", endless, finish)
    worker.wake()
    await asyncio.to_thread(begun.wait, SECONDS)

    await worker.close(SECONDS, round_within=0.0)

    assert finished.is_set()
    assert threads_named("endless") == 0


async def test_closing_takes_no_longer_than_it_may() -> None:
    rounds = Rounds()

    async def endless() -> None:
        await asyncio.Event().wait()

    worker = BackgroundWorker("stuck", rounds.round, endless)
    worker.wake()
    assert await rounds.reach(1)

    await worker.close(0.05)

    assert threads_named("stuck") == 0


async def test_after_closing_nothing_is_begun() -> None:
    rounds = Rounds()
    worker = BackgroundWorker("closed", rounds.round, rounds.finish)
    await worker.close(SECONDS)

    worker.wake()

    assert (threads_named("closed"), rounds.count, rounds.finished) == (0, 0, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_in_a_forked_process_it_starts_anew() -> None:
    rounds = Rounds()
    worker = BackgroundWorker("forked", rounds.round)
    worker.wake()
    assert rounds.wait_for(1)

    child = os.fork()
    if child == 0:  # from here on nothing may raise: the test would go on twice
        worker.wake()
        os._exit(0 if rounds.wait_for(2) else 1)
    _, status = os.waitpid(child, 0)
    worker.wake()

    assert os.waitstatus_to_exitcode(status) == 0
    assert rounds.wait_for(2)
    asyncio.run(worker.close(SECONDS))


async def test_work_on_a_loop_runs_side_by_side_until_it_is_closed() -> None:
    thread, met = EventLoopThread("loop"), threading.Barrier(2)

    async def meet() -> int:
        return await asyncio.to_thread(met.wait, SECONDS)

    both = [asyncio.wrap_future(thread.submit(meet)) for _ in range(2)]
    assert sorted(await asyncio.gather(*both)) == [0, 1]

    await thread.close()
    with pytest.raises(UnavailableError, match="closed"):
        thread.submit(meet)


async def test_closing_a_loop_cancels_what_runs_and_awaits_what_comes_last() -> None:
    thread, outcomes = EventLoopThread("last"), list[str]()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            outcomes.append("cancelled")

    async def last() -> None:
        outcomes.append("last")

    thread.submit(endless)
    await thread.close(last)

    assert outcomes == ["cancelled", "last"]
