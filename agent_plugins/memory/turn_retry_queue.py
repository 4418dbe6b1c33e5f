"""Turns of agents on their way into the memory: in order, once, and tried again as long as the process lives."""

import asyncio
import logging
from collections import OrderedDict, deque
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING

from agent_plugins.memory.memory_edge import within
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
    """Keeps what is said in sessions. Safe to use from any thread and any event loop."""

    def __init__(self, shared: SharedMemory, *, seconds: float) -> None:
        self._shared = shared
        self._seconds = seconds
        self._lock = RLock()  # a turn may be kept before the one who began it has noted that
        self._unsaved: OrderedDict[Scope, deque[_Unsaved]] = OrderedDict()
        self._begun: dict[Scope, Future[bool]] = {}

    async def append(self, scope: Scope, turn: NewTurn, operation_id: str) -> bool:
        """Keep a turn of the session, and what could not be kept before; tell whether all of it was.

        What could not be kept is tried again with the next turn, in order, as long as the process lives.
        """
        waiting = self._taken(scope)
        waiting.append(_Unsaved(turn, operation_id))
        while waiting:
            try:
                await self._keep(scope, waiting[0])
            except UnavailableError as error:
                logger.warning("%d messages are not saved yet: %s", len(waiting), error)
                self._put_back(scope, waiting)
                return False
            except MemoryServerError as error:  # it can never be saved, so it must not keep others from it
                logger.warning("a message cannot be saved: %s", error)
            except BaseException:  # the call was cancelled: what was in hand is tried again with the next turn
                self._put_back(scope, waiting)
                raise
            waiting.popleft()
        return True

    def begin_append(self, scope: Scope, turn: NewTurn, operation_id: str) -> "Future[bool]":
        """Begin to keep a turn, after those of the session that were begun before; the answer is that of `append`.

        It goes on when whoever began it is cancelled, or its event loop is gone.
        """
        with self._lock:
            before = self._begun.get(scope)
            begun = BACKGROUND.submit(self._append_after(before, scope, turn, operation_id))
            self._begun[scope] = begun
        begun.add_done_callback(lambda done: self._has_ended(scope, done))
        return begun

    def unsaved(self, scope: Scope) -> int:
        """Return how many messages of the session wait to be saved."""
        with self._lock:
            return len(self._unsaved.get(scope, ()))

    async def _append_after(
        self, before: "Future[bool] | None", scope: Scope, turn: NewTurn, operation_id: str
    ) -> bool:
        if before is not None:
            await asyncio.wait([asyncio.wrap_future(before)])
        return await self.append(scope, turn, operation_id)

    async def _keep(self, scope: Scope, unsaved: _Unsaved) -> None:
        await within(
            self._seconds,
            self._shared,
            lambda memory: memory.conversations.append(scope, unsaved.turn, operation_id=unsaved.operation_id),
        )

    def _has_ended(self, scope: Scope, done: "Future[bool]") -> None:
        with self._lock:
            if self._begun.get(scope) is done:
                del self._begun[scope]

    def _taken(self, scope: Scope) -> deque[_Unsaved]:
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
