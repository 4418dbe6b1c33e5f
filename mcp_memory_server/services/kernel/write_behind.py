"""Writes that nobody waits for."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Sequence

from mcp_memory_server.domain.kernel.items import Put
from mcp_memory_server.errors import UnavailableError
from mcp_memory_server.ports.item_table import ItemTable

WRITTEN_AT_ONCE = 25
ATTEMPTS = 4
FIRST_WAIT_SECONDS = 0.1
IDLE_SECONDS = 10.0
DRAIN_SECONDS = 10.0

logger = logging.getLogger(__name__)


class WriteBehindQueue:
    """A queue of new items and one thread that writes them. Used from any thread and any event loop.

    Adding never waits, and promises nothing: when too many are queued, the oldest is given up and counted, and so is
    what the table refuses time and again. What is queued when the process is killed is lost. The thread has an event
    loop of its own, starts when there is something to write, and ends when there has been nothing for a while.
    """

    def __init__(self, table: ItemTable, most: int) -> None:
        self._table = table
        self._most = most
        self._queue: deque[Put] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._added = 0
        self._lost = 0
        self._begun: int | None = None  # how many had been taken before those that are being written

    @property
    def lost(self) -> int:
        """How many were given up."""
        return self._lost

    def add(self, put: Put) -> None:
        """Queue a new item. The operation id of its write is its sort key, so a repetition is recognised."""
        with self._changed:
            if self._closed:
                self._give_up(1)
                return
            if len(self._queue) >= self._most:
                self._queue.popleft()
                self._give_up(1)
            self._queue.append(put)
            self._added += 1
            # One that ended unforeseen, or did not come along when the process forked, is replaced as well.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="memory-behind", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    async def drain(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Wait until everything queued before this call is written or given up; tell whether that was in time."""
        with self._changed:
            if self._is_settled(self._added):
                return True
        return await asyncio.to_thread(self._drain, seconds)

    async def close(self) -> None:
        """Write what is queued, as far as that goes in time, and take no more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        await self.drain()

    def _drain(self, seconds: float) -> bool:
        with self._changed:
            last = self._added
            return self._changed.wait_for(lambda: self._is_settled(last), seconds)

    def _is_settled(self, last: int) -> bool:
        taken = self._added - len(self._queue)
        return taken >= last and (self._begun is None or self._begun >= last)

    def _give_up(self, count: int) -> None:
        if not self._lost:
            logger.warning("entries of a log are lost: too many at once, or the table does not take them")
        self._lost += count

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while batch := self._next_batch():
                self._end_batch(lost=runner.run(self._write(batch)))

    def _next_batch(self) -> list[Put]:
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closed, IDLE_SECONDS)
            if not self._queue:
                self._thread = None
                return []
            self._begun = self._added - len(self._queue)
            return [self._queue.popleft() for _ in range(min(len(self._queue), WRITTEN_AT_ONCE))]

    def _end_batch(self, *, lost: int) -> None:
        with self._changed:
            self._begun = None
            if lost:
                self._give_up(lost)
            self._changed.notify_all()

    async def _write(self, batch: Sequence[Put]) -> int:
        """Write them side by side, again as long as the table is not there, and return how many were given up."""
        refused = 0
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(FIRST_WAIT_SECONDS * 4 ** (attempt - 1))
            writes = (self._table.put(put, operation_id=put.key.sk) for put in batch)
            outcomes = await asyncio.gather(*writes, return_exceptions=True)
            again: list[Put] = []
            for put, outcome in zip(batch, outcomes, strict=True):
                if isinstance(outcome, UnavailableError):
                    again.append(put)
                elif isinstance(outcome, BaseException):
                    refused += 1
                    logger.warning("an entry of a log was refused: %s: %s", type(outcome).__name__, outcome)
            batch = again
            if not batch:
                break
        return refused + len(batch)
