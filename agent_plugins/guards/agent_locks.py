"""Locks for tools that must not run at the same time: whoever waits is told by whom, and nobody waits for ever.

locks = AgentLocks(guards)
async with locks.hold_async("cart", "orders"):
    ...
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from threading import Lock

from agent_plugins.fenced import fenced
from agent_plugins.guards.guards import Guards
from mcp_memory_server import UnavailableError

TIMEOUT_SECONDS = 10.0
_PAUSE_SECONDS = 0.01


class LockNotFreeError(UnavailableError):
    """The lock was not to be had. The message is one that a model can act on."""


class AgentLocks:
    """Named locks among the agents of this process, of any thread and event loop. The guards see every one of them.

    An agent that would wait for one that waits for it is refused at once. A lock is never taken away from its holder:
    that could still be at work. One that is held for too long is told by the guards.
    """

    def __init__(self, guards: Guards, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._guards = guards
        self._monotonic = monotonic
        self._lock = Lock()
        self._owners: dict[str, tuple[str, float]] = {}

    @contextmanager
    def hold(self, name: str, owner: str, *, patience: float = TIMEOUT_SECONDS) -> Generator[None]:
        """Hold the lock for the block, for code that is not async.

        Raises:
            LockNotFreeError: It was not free in so many seconds, or never would be.
        """
        waiting = self._waiting(name, owner, patience)
        while not next(waiting):
            time.sleep(_PAUSE_SECONDS)
        try:
            yield
        finally:
            self._release(name, owner)

    @asynccontextmanager
    async def hold_async(self, name: str, owner: str, *, patience: float = TIMEOUT_SECONDS) -> AsyncGenerator[None]:
        """Hold the lock for the block.

        Raises:
            LockNotFreeError: It was not free in so many seconds, or never would be.
        """
        waiting = self._waiting(name, owner, patience)
        try:
            while not next(waiting):  # noqa: ASYNC110 - an event belongs to one loop, a lock to all of them
                await asyncio.sleep(_PAUSE_SECONDS)
        except asyncio.CancelledError:
            self._guards.lock_given_up(owner)
            raise
        try:
            yield
        finally:
            self._release(name, owner)

    def _waiting(self, name: str, owner: str, patience: float) -> Generator[bool]:
        """Yield whether the lock was taken, until it was."""
        until = self._monotonic() + patience
        while not self._taken(name, owner):
            if (deadlock := self._guards.lock_waited_for(name, owner)) is not None:
                raise LockNotFreeError(deadlock.message)
            if self._monotonic() >= until:
                self._guards.lock_given_up(owner)
                raise LockNotFreeError(self._held(name))
            yield False
        yield True

    def _taken(self, name: str, owner: str) -> bool:
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

    def _held(self, name: str) -> str:
        owner, since = self._owners.get(name, ("another agent", self._monotonic()))
        seconds = self._monotonic() - since
        return (
            f"{fenced(name)} is held by {fenced(owner)} for {seconds:.0f} s. Do something else first, then try again, "
            "or tell the user."
        )
