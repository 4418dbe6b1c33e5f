"""A queue that saves the turns of agents: in order, once each, and retried as long as the process lives."""

import asyncio
import logging
from collections import OrderedDict, deque
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING

from agent_plugins.memory.memory_calls import call_memory
from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.state.background_loop import BACKGROUND
from mcp_memory_server import MemoryServerError, NewTurn, Scope, UnavailableError

if TYPE_CHECKING:
    from concurrent.futures import Future

MOST_UNSAVED = 100
MOST_SESSIONS = 1000

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Unsaved:
    turn: NewTurn
    operation_id: str


class TurnRetryQueue:
    """Saves the turns of sessions. Safe to use from any thread and any event loop."""

    def __init__(self, shared: SharedMemory, *, seconds: float) -> None:
        self._shared = shared
        self._seconds = seconds
        self._lock = RLock()  # reentrant: a callback may run in the thread that adds it
        self._unsaved: OrderedDict[Scope, deque[_Unsaved]] = OrderedDict()
        self._latest: dict[Scope, Future[bool]] = {}

    async def append(self, scope: Scope, turn: NewTurn, operation_id: str) -> bool:
        """Save a turn after the unsaved ones of its session; return whether all of them were saved.

        Turns that could not be saved are retried with the next turn, in order, as long as the process lives.
        """
        waiting = self._take_unsaved(scope)
        waiting.append(_Unsaved(turn, operation_id))
        while waiting:
            try:
                await self._append(scope, waiting[0])
            except UnavailableError as error:
                logger.warning("%d messages are not saved yet: %s", len(waiting), error)
                self._put_back(scope, waiting)
                return False
            except MemoryServerError as error:  # it can never be saved, so it must not block the others
                logger.warning("a message cannot be saved: %s", error)
            except BaseException:  # the call was cancelled: retry with the next turn
                self._put_back(scope, waiting)
                raise
            waiting.popleft()
        return True

    def begin_append(self, scope: Scope, turn: NewTurn, operation_id: str) -> "Future[bool]":
        """Begin to save a turn, after earlier ones of the session; the future has the result of `append`.

        Saving continues when the caller is cancelled, or its event loop is closed.
        """
        with self._lock:
            before = self._latest.get(scope)
            begun = BACKGROUND.submit(self._append_after(before, scope, turn, operation_id))
            self._latest[scope] = begun
        begun.add_done_callback(lambda done: self._forget(scope, done))
        return begun

    def unsaved(self, scope: Scope) -> int:
        """Return how many turns of the session are not saved yet."""
        with self._lock:
            return len(self._unsaved.get(scope, ()))

    async def _append_after(
        self, before: "Future[bool] | None", scope: Scope, turn: NewTurn, operation_id: str
    ) -> bool:
        if before is not None:
            await asyncio.wait([asyncio.wrap_future(before)])
        return await self.append(scope, turn, operation_id)

    async def _append(self, scope: Scope, unsaved: _Unsaved) -> None:
        await call_memory(
            self._seconds,
            self._shared,
            lambda memory: memory.conversations.append(scope, unsaved.turn, operation_id=unsaved.operation_id),
        )

    def _forget(self, scope: Scope, done: "Future[bool]") -> None:
        with self._lock:
            if self._latest.get(scope) is done:
                del self._latest[scope]

    def _take_unsaved(self, scope: Scope) -> deque[_Unsaved]:
        with self._lock:
            return self._unsaved.pop(scope, None) or deque()

    def _put_back(self, scope: Scope, waiting: deque[_Unsaved]) -> None:
        with self._lock:
            waiting.extend(self._unsaved.pop(scope, ()))
            while len(waiting) > MOST_UNSAVED:
                waiting.popleft()
                logger.warning("a message is lost: too many could not be saved")
            self._unsaved[scope] = waiting
            while len(self._unsaved) > MOST_SESSIONS:
                self._unsaved.popitem(last=False)
                logger.warning("the messages of a session are lost: too many could not be saved")
