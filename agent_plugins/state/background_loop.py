"""One event loop, in a thread of its own, for work that outlives a call.

Frameworks run agents in short-lived threads and event loops. Work that must continue after a call, or that synchronous
code waits for, runs here.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from mcp_memory_server import InvalidRequestError

R = TypeVar("R")


class BackgroundLoop:
    """An event loop in a daemon thread. It starts when it is first used, and runs until the process ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, R]) -> Future[R]:
        """Run the coroutine on the loop, and return its future, which any other thread or loop may wait for."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def call_soon(self, call: Callable[[], object]) -> None:
        """Make the call there, soon."""
        self._running().call_soon_threadsafe(call)

    def wait_for(self, future: Future[R], seconds: float | None = None) -> R:
        """Block until the result is there, and return it. For synchronous code.

        Raises:
            TimeoutError: It took longer than ``seconds``.
            InvalidRequestError: This was called on the loop itself, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise InvalidRequestError("this would wait for itself for ever; await the async method instead")
        return future.result(seconds)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            # In a forked process the thread does not exist, and neither does the work that ran there.
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                run = self._loop.run_forever
                self._thread = threading.Thread(target=run, name="agent-plugins", daemon=True)
                self._thread.start()
            return self._loop


BACKGROUND = BackgroundLoop()
"""The loop of this process. Thousands of sessions share it: nothing that runs here may block it."""
