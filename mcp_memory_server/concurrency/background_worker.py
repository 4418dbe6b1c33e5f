"""A background worker: rounds of work in a thread of its own, with a pause between them that `wake` cuts short.

1. The thread starts with the first `wake`, and is replaced by a later one if it is gone, as after a fork.
2. After every `wake` a whole round begins, unless the worker is closed before that.
3. A round that raises is logged with its traceback and costs a pause: the next one comes all the same.
4. Closing takes at most the time it is given. A round in progress may end, within its part of that time, then
   ``finish`` runs once; what is not done by then is cancelled.

    (not started) --wake--> round --> pause --wake, or the pause is over--> round
                              |         |
                              +--close--+--> finish --> (closed)
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mcp_memory_server.concurrency.event_loop_thread import EventLoopThread

if TYPE_CHECKING:
    from concurrent.futures import Future

PAUSE_AFTER_FAILURE_SECONDS = 5.0
STOP_SECONDS = 1.0
"""So long a thread may take to stop after its last round. One that takes longer is left: it is a daemon."""

logger = logging.getLogger(__name__)


async def _nothing() -> None:
    pass


class BackgroundWorker:
    """Runs rounds until it is closed. Used from any thread and any event loop.

    A round returns for how many seconds there is nothing more to do, or None to sleep until the next `wake`.
    """

    def __init__(
        self,
        name: str,
        run_round: Callable[[], Coroutine[Any, Any, float | None]],
        finish: Callable[[], Coroutine[Any, Any, None]] = _nothing,
    ) -> None:
        """``finish`` is what has to be done after the last round, when the worker is closed."""
        self._name = name
        self._run_round = run_round
        self._finish = finish
        self._thread = EventLoopThread(name)
        self._lock = threading.Lock()
        self._is_closed = False
        self._rounds: Future[None] | None = None
        self._woken = asyncio.Event()
        self._task: asyncio.Task[float | None] | None = None

    def wake(self) -> None:
        """Begin a round now, or after the one in progress. A no-op once the worker is closed."""
        with self._lock:
            if self._is_closed:
                return
            if self._rounds is None or not self._thread.is_alive:
                self._woken = asyncio.Event()  # an event belongs to one loop
                self._rounds = self._thread.submit(self._run)
            else:
                self._thread.call_soon(self._woken.set)

    async def close(self, within: float, *, round_within: float | None = None) -> None:
        """End the round in progress, ``finish``, and stop, all of it within so many seconds.

        The round gets ``round_within`` of them, by default all.
        """
        with self._lock:
            self._is_closed = True
            rounds = self._rounds
        if rounds is None or not self._thread.is_alive:
            return
        self._thread.call_soon(lambda: self._end_round(within if round_within is None else round_within))
        # Cancelling this call, as a second signal to the process does, leaves the worker alone.
        await asyncio.wait([asyncio.wrap_future(rounds)], timeout=within)
        await self._thread.close(within=STOP_SECONDS)

    async def _run(self) -> None:
        woken = self._woken
        while not self._is_closed:
            pause = await self._attempt(self._run_round())
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await woken.wait()
            woken.clear()
        await self._attempt(self._finish())

    async def _attempt(self, work: Coroutine[Any, Any, float | None]) -> float | None:
        self._task = asyncio.create_task(work)
        (outcome,) = await asyncio.gather(self._task, return_exceptions=True)
        if isinstance(outcome, Exception):
            logger.error("background work of %s failed", self._name, exc_info=outcome)
            return PAUSE_AFTER_FAILURE_SECONDS
        return None if isinstance(outcome, BaseException) else outcome

    def _end_round(self, within: float) -> None:
        self._woken.set()
        if self._task is not None:
            asyncio.get_running_loop().call_later(within, self._task.cancel)
