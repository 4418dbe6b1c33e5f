"""One event loop for what goes on between calls, in a thread of its own.

Frameworks run agents in threads and event loops that are gone a moment later. What must outlive a call, or be awaited
from code that is not async, runs here.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from mcp_memory_server import InvalidRequestError

R = TypeVar("R")


class BackgroundLoop:
    """An event loop in a daemon thread. It is started when it is first needed, and runs until the process ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, R]) -> Future[R]:
        """Start the work there. Its result may be awaited or waited for anywhere else."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def call_soon(self, call: Callable[[], object]) -> None:
        """Make the call there, soon."""
        self._running().call_soon_threadsafe(call)

    def wait_for(self, future: Future[R], seconds: float | None = None) -> R:
        """Return the result, for code that is not async.

        Raises:
            TimeoutError: It took longer.
            InvalidRequestError: This is called on the loop itself, which would then wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise InvalidRequestError("this would wait for itself for ever; await the async method instead")
        return future.result(seconds)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            # In a forked process the thread is gone, and with it whatever ran there.
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                run = self._loop.run_forever
                self._thread = threading.Thread(target=run, name="agent-plugins", daemon=True)
                self._thread.start()
            return self._loop


BACKGROUND = BackgroundLoop()
"""The one of this process. Thousands of sessions share it: nothing that runs here holds it up."""
