"""Locks for tools that must not run at the same time. A wait ends with a timeout that names the holder.

locks = AgentLocks(guards)
async with locks.hold_async("cart", "orders"):
    ...
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from threading import Lock

from agent_plugins.guards.loop_guards import Guards
from agent_plugins.quoting import quoted
from mcp_memory_server import UnavailableError

TIMEOUT_SECONDS = 10.0
_PAUSE_SECONDS = 0.01


class LockNotFreeError(UnavailableError):
    """The lock could not be taken. The message is written for the model."""


class AgentLocks:
    """Named locks for the agents of this process, in any thread and event loop. The guards record each of them.

    An agent whose wait would be a deadlock is refused at once. A lock is never taken away from its holder, which may
    still be working; the guards report a lock that is held for too long.
    """

    def __init__(self, guards: Guards, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._guards = guards
        self._monotonic = monotonic
        self._lock = Lock()
        self._owners: dict[str, tuple[str, float]] = {}

    @contextmanager
    def hold(self, name: str, owner: str, *, timeout: float = TIMEOUT_SECONDS) -> Generator[None]:
        """Hold the lock for the block, for synchronous code.

        Raises:
            LockNotFreeError: It was not free within ``timeout`` seconds, or waiting would be a deadlock.
        """
        attempts = self._attempts(name, owner, timeout)
        while not next(attempts):
            time.sleep(_PAUSE_SECONDS)
        try:
            yield
        finally:
            self._release(name, owner)

    @asynccontextmanager
    async def hold_async(
        self,
        name: str,
        owner: str,
        *,
        timeout: float = TIMEOUT_SECONDS,  # noqa: ASYNC109 - of the wait for the lock, not of the block
    ) -> AsyncGenerator[None]:
        """Hold the lock for the block.

        Raises:
            LockNotFreeError: It was not free within ``timeout`` seconds, or waiting would be a deadlock.
        """
        attempts = self._attempts(name, owner, timeout)
        try:
            while not next(attempts):  # noqa: ASYNC110 - an event belongs to one loop, a lock to all of them
                await asyncio.sleep(_PAUSE_SECONDS)
        except asyncio.CancelledError:
            self._guards.lock_wait_ended(owner)
            raise
        try:
            yield
        finally:
            self._release(name, owner)

    def _attempts(self, name: str, owner: str, timeout: float) -> Generator[bool]:
        """Try to take the lock on each step; yield False until it is taken, then True."""
        until = self._monotonic() + timeout
        while not self._try_take(name, owner):
            if (deadlock := self._guards.lock_waited_for(name, owner)) is not None:
                raise LockNotFreeError(deadlock.message)
            if self._monotonic() >= until:
                self._guards.lock_wait_ended(owner)
                raise LockNotFreeError(self._held_message(name))
            yield False
        yield True

    def _try_take(self, name: str, owner: str) -> bool:
        with self._lock:
            if name in self._owners:
                return False
            self._owners[name] = owner, self._monotonic()
            self._guards.lock_taken(name, owner)
            return True

    def _release(self, name: str, owner: str) -> None:
        with self._lock:
            del self._owners[name]
            self._guards.lock_released(name, owner)

    def _held_message(self, name: str) -> str:
        owner, since = self._owners.get(name, ("another agent", self._monotonic()))
        seconds = self._monotonic() - since
        return (
            f"{quoted(name)} is held by {quoted(owner)} for {seconds:.0f} s. Do something else first, then try again, "
            "or tell the user."
        )
