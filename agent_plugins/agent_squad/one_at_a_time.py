"""Waiting for an agent that can answer only one request at a time, from any thread and event loop."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from threading import Lock


class OneAtATime:
    """Lets one request through at a time, in the order of arrival."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_busy = False
        self._waiting: deque[Future[None]] = deque()

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Wait for the turn, and end it when the block is left."""
        await self._wait()
        try:
            yield
        finally:
            self._next()

    async def _wait(self) -> None:
        with self._lock:
            if not self._is_busy:
                self._is_busy = True
                return
            turn: Future[None] = Future()
            self._waiting.append(turn)
        try:
            await asyncio.wrap_future(turn)
        except BaseException:  # cancelled: before its turn, or just as it came
            if not turn.cancelled() and turn.done():
                self._next()
            raise

    def _next(self) -> None:
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._is_busy = False
