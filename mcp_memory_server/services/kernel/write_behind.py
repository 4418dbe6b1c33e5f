"""Writes that nobody waits for."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Sequence

from mcp_memory_server.concurrency.background_worker import BackgroundWorker
from mcp_memory_server.domain.kernel.items import Put
from mcp_memory_server.errors import UnavailableError
from mcp_memory_server.ports.item_table import ItemTable

WRITTEN_AT_ONCE = 25
ATTEMPTS = 4
FIRST_WAIT_SECONDS = 0.1
DRAIN_SECONDS = 10.0

logger = logging.getLogger(__name__)


class WriteBehindQueue:
    """A queue of new items and a worker that writes them. Used from any thread and any event loop.

    Adding never waits, and promises nothing: when too many are queued, the oldest is dropped and counted, and so is
    what the table refuses time and again. What is queued when the process is killed is lost.
    """

    def __init__(self, table: ItemTable, most: int) -> None:
        self._table = table
        self._most = most
        self._queue: deque[Put] = deque()
        self._changed = threading.Condition()
        self._worker = BackgroundWorker("memory-write-behind", self._write_next, self._write_all)
        self._closed = False
        self._added = 0
        self._lost = 0
        self._begun: int | None = None  # how many had been taken before those that are being written

    @property
    def lost(self) -> int:
        """How many were dropped."""
        return self._lost

    def add(self, put: Put) -> None:
        """Queue a new item. The operation id of its write is its sort key, so a repetition is recognised."""
        with self._changed:
            if self._closed:
                self._drop(1)
                return
            if len(self._queue) >= self._most:
                self._queue.popleft()
                self._drop(1)
            self._queue.append(put)
            self._added += 1
        self._worker.wake()

    async def drain(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Wait until everything queued before this call is written or dropped; return whether that was in time."""
        with self._changed:
            if self._is_settled(self._added):
                return True
        return await asyncio.to_thread(self._drain, seconds)

    async def close(self) -> None:
        """Write what is queued, as far as that goes in time, and take no more."""
        with self._changed:
            self._closed = True
        await self._worker.close(DRAIN_SECONDS)

    def _drain(self, seconds: float) -> bool:
        with self._changed:
            last = self._added
            return self._changed.wait_for(lambda: self._is_settled(last), seconds)

    def _is_settled(self, last: int) -> bool:
        taken = self._added - len(self._queue)
        return taken >= last and (self._begun is None or self._begun >= last)

    def _drop(self, count: int) -> None:
        if not self._lost:
            logger.warning("entries of a log are lost: too many at once, or the table does not take them")
        self._lost += count

    async def _write_all(self) -> None:
        while await self._write_next() is not None:
            pass

    async def _write_next(self) -> float | None:
        """Write the next batch; return None if there was none."""
        if not (batch := self._next_batch()):
            return None
        self._end_batch(lost=await self._write(batch))
        return 0.0

    def _next_batch(self) -> list[Put]:
        with self._changed:
            if not self._queue:
                return []
            self._begun = self._added - len(self._queue)
            return [self._queue.popleft() for _ in range(min(len(self._queue), WRITTEN_AT_ONCE))]

    def _end_batch(self, *, lost: int) -> None:
        with self._changed:
            self._begun = None
            if lost:
                self._drop(lost)
            self._changed.notify_all()

    async def _write(self, batch: Sequence[Put]) -> int:
        """Write them side by side, again while the table does not answer, and return how many were dropped."""
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
                    logger.warning("entry %s of a log was refused: %s: %s", put.key.sk, type(outcome).__name__, outcome)
            batch = again
            if not batch:
                break
        return refused + len(batch)
