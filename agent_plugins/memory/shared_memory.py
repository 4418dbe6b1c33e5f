"""One open memory for all agents of a process, in any thread and event loop."""

import asyncio
import atexit
import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from concurrent.futures import thread as executors
from contextlib import AsyncExitStack
from typing import TypeAlias
from weakref import WeakSet

from agent_plugins.argument_checks import check_type
from agent_plugins.state.background_loop import BACKGROUND
from mcp_memory_server import Memory, Settings, UnavailableError, open_memory

CLOSE_SECONDS = 30.0
"""Longer than a memory takes to flush its queues when it is closed."""
RETRY_SECONDS = 5.0
"""How long opening is not retried after a failure: agents ask for the memory at every step."""

logger = logging.getLogger(__name__)


class SharedMemory:
    """A memory that is opened when it is first used, and closed once.

    Frameworks run agents in short-lived threads and event loops. The memory may be used from any of them, but is
    opened and closed on the background loop, which outlives them.
    """

    def __init__(self, settings: Settings | None = None, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Take the settings; without any, those of the environment are read when the memory is opened."""
        self._settings = settings
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._stack = AsyncExitStack()
        self._opening: Future[Memory] | None = None
        self._failed_at = 0.0
        self._is_closed = False
        _not_closed.add(self)

    @property
    def is_closed(self) -> bool:
        """Whether it can no longer be used."""
        return self._is_closed

    @classmethod
    def around(cls, memory: Memory) -> "SharedMemory":
        """Return a wrapper of a memory that is open already. Its owner closes it."""
        shared = cls()
        shared._opening = Future()
        shared._opening.set_result(memory)
        return shared

    async def get(self) -> Memory:
        """Return the memory, opened if this is the first call.

        Raises:
            ConfigurationError: A setting is wrong.
            UnavailableError: It was closed.
        """
        opening = self._opened()
        if opening.done():
            return opening.result()
        # Shielded: cancelling one caller must not stop the opening for the others.
        return await asyncio.shield(asyncio.wrap_future(opening))

    def close(self) -> None:
        """Finish pending work and close the memory, unless its owner does. Closing twice is harmless."""
        _wait_for([self._closing()])

    def _closing(self) -> "Future[None] | None":
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
            return None if was_closed or self._opening is None else BACKGROUND.submit(self._stack.aclose())

    def _opened(self) -> "Future[Memory]":
        with self._lock:
            if self._is_closed:
                raise UnavailableError("the memory of these agents was closed; make a new plugin")
            if self._opening is None or self._may_try_again(self._opening):
                self._opening = BACKGROUND.submit(self._open())
            return self._opening

    def _may_try_again(self, opening: "Future[Memory]") -> bool:
        failed = opening.done() and opening.exception() is not None
        return failed and self._monotonic() - self._failed_at >= RETRY_SECONDS

    async def _open(self) -> Memory:
        try:
            return await self._stack.enter_async_context(open_memory(self._settings))
        except BaseException as error:
            self._failed_at = self._monotonic()
            logger.error("the memory of agents cannot be opened: %s", error)  # noqa: TRY400 - the message says what to correct
            raise


Source: TypeAlias = "SharedMemory | Memory | Settings | None"

_not_closed: "WeakSet[SharedMemory]" = WeakSet()
_by_settings: dict[Settings | None, SharedMemory] = {}
_by_settings_lock = threading.Lock()


def shared_memory(source: Source = None) -> SharedMemory:
    """Return the memory that this process shares for these settings, by default those of the environment; or the given
    memory.

    Raises:
        InvalidRequestError: It is none of these.
    """
    if isinstance(source, SharedMemory):
        return source
    if isinstance(source, Memory):
        return SharedMemory.around(source)
    example = "Settings(table='sqlite:///path'), an open Memory, or None for the environment"
    check_type("memory", source, (Settings, type(None)), example)
    with _by_settings_lock:
        known = _by_settings.get(source)
        if known is None or known.is_closed:
            known = _by_settings[source] = SharedMemory(source)
        return known


def _wait_for(closing: "Iterable[Future[None] | None]") -> None:
    wait([future for future in closing if future is not None], CLOSE_SECONDS)


def _close_all() -> None:
    _wait_for([shared._closing() for shared in list(_not_closed)])  # pyright: ignore[reportPrivateUsage]


def _close_all_at_exit() -> None:
    """Close open memories at exit, before executors are shut down: closing needs them, and `atexit` runs too late."""
    assert executors  # noqa: S101 - imported first, because callbacks run in reverse order of registration
    register: Callable[[Callable[[], None]], object] = getattr(threading, "_register_atexit", atexit.register)
    register(_close_all)


_close_all_at_exit()
