"""Work beside the calls: one thread with an event loop of its own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_memory_server.errors import UnavailableError

if TYPE_CHECKING:
    from concurrent.futures import Future

R = TypeVar("R")

CLOSE_SECONDS = 5.0
THREAD_NAME = "memory-background"


class Background:
    """Runs what outlives the call that asked for it. Its thread starts when it is needed. Used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def run(self, work: Callable[[], Coroutine[Any, Any, R]]) -> "Future[R]":
        """Begin the work, side by side with what is under way.

        Raises:
            UnavailableError: It was closed.
        """
        with self._lock:
            if self._is_closed:
                raise UnavailableError("the memory was closed; open it again")
            # A thread does not come along when the process forks.
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name=THREAD_NAME, daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work(), self._loop)

    async def close(self, last: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """Give up what is under way, do what has to be done last, as far as that goes in time, and take no more."""
        with self._lock:
            self._is_closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None or not thread.is_alive():
            return
        with suppress(TimeoutError):
            ending = asyncio.run_coroutine_threadsafe(_end(last), loop)
            await asyncio.wait_for(asyncio.wrap_future(ending), CLOSE_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join, CLOSE_SECONDS)
        if not thread.is_alive():
            loop.close()


async def _end(last: Callable[[], Coroutine[Any, Any, None]] | None) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    if last is not None:
        await last()
