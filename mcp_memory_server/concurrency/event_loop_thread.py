"""A daemon thread with an event loop, for work that outlives the call that asked for it."""

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


class EventLoopThread:
    """Runs coroutines side by side. The thread starts with the first one. Used from any thread and any event loop."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs: it has started, in this process, and has not ended."""
        return self._thread is not None and self._thread.is_alive()

    def submit(self, work: Callable[[], Coroutine[Any, Any, R]]) -> "Future[R]":
        """Start the work on the loop and return its future.

        Raises:
            UnavailableError: It was closed.
        """
        with self._lock:
            if self._is_closed:
                raise UnavailableError("the memory was closed; open it again")
            # A thread does not exist in the child after a fork, where the parent's loop must not be touched.
            if self._loop is None or not self.is_alive:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name=self._name, daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work(), self._loop)

    def call_soon(self, call: Callable[[], object]) -> None:
        """Call it on the loop; a no-op if the thread does not run."""
        with self._lock:
            if self._loop is not None and self.is_alive:
                self._loop.call_soon_threadsafe(call)

    async def close(
        self, last: Callable[[], Coroutine[Any, Any, None]] | None = None, *, within: float = CLOSE_SECONDS
    ) -> None:
        """Cancel what is running, await ``last`` for at most ``within`` seconds, and refuse further work."""
        with self._lock:
            self._is_closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None or not thread.is_alive():
            return
        with suppress(TimeoutError):
            ending = asyncio.run_coroutine_threadsafe(_end(last), loop)
            await asyncio.wait_for(asyncio.wrap_future(ending), within)
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join, within)
        if not thread.is_alive():
            loop.close()


async def _end(last: Callable[[], Coroutine[Any, Any, None]] | None) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    if last is not None:
        await last()
