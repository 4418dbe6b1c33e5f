"""Watching the stored state of a session for changes by other processes."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass
from threading import Lock
from typing import Any, cast

from agent_plugins.state.background_loop import BACKGROUND
from agent_plugins.state.state_saver import MemorySource
from mcp_memory_server import MemoryServerError, Scope

PAUSE_SECONDS = 1.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Watch:
    """A running watch: resolving ``stop`` ends it, and ``ended`` resolves when it has."""

    stop: Future[None]
    ended: Future[None]


class StateWatcher:
    """Calls ``changed`` on the background loop whenever the state of the session changes. Safe to use from any thread.

    It runs while ``begin`` was called more often than ``end``, and costs a connection to Redis, or polling of the file.
    """

    def __init__(self, memory: MemorySource, scope: Scope, changed: Callable[[], object]) -> None:
        self._memory = memory
        self._scope = scope
        self._changed = changed
        self._lock = Lock()
        self._watchers = 0
        self._watch: _Watch | None = None
        self._ended: Future[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether the state is being watched."""
        return self._watch is not None

    def begin(self) -> None:
        """Add a user of the watch; the first one starts it."""
        with self._lock:
            self._watchers += 1
            if self._watch is None:
                stop: Future[None] = Future()
                self._watch = _Watch(stop, BACKGROUND.submit(self._run(stop)))

    def end(self) -> None:
        """Remove a user of the watch; the last one stops it."""
        with self._lock:
            self._watchers -= 1
            is_last = self._watchers == 0
        if is_last:
            self.stop()

    def stop(self) -> Future[None] | None:
        """Stop for all users. Return a future that resolves when nothing runs any more; None if nothing ran."""
        with self._lock:
            watch, self._watch, self._watchers = self._watch, None, 0
            if watch is not None:
                watch.stop.set_result(None)
                self._ended = watch.ended
            return self._ended

    async def _run(self, stop: Future[None]) -> None:
        watching = asyncio.create_task(self._watch_on())
        await asyncio.wrap_future(stop)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    async def _watch_on(self) -> None:
        while True:
            try:
                states = (await self._memory()).states
                versions = cast("Any", states.watch(self._scope))
                async with aclosing(versions):
                    async for _ in versions:
                        self._changed()
            except MemoryServerError as error:
                logger.warning("watching the state of a session was interrupted: %s", type(error).__name__)
            await asyncio.sleep(PAUSE_SECONDS)
