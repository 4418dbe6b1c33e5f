"""A queue that saves the turns of agents: in order, once each, and retried as long as the process lives.

A turn waits a moment for those that follow it, because several are saved with one durable write: the question and the
answer of a quick model, or a call of a tool and its answer. What waits is saved at the end of an invocation at once.
"""

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock

from agent_plugins.memory.memory_calls import call_memory
from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.state.background_loop import BACKGROUND
from agent_plugins.telemetry import Context, get_current, span
from mcp_memory_server import MemoryServerError, NewTurn, Scope, UnavailableError

LINGER_SECONDS = 0.05
"""How long a turn waits for others before it is saved. A process that dies loses no more of a conversation."""
SAVED_AT_ONCE = 9
MOST_UNSAVED = 100
MOST_SESSIONS = 1000
WRITE = "upsert_memory"

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class _Unsaved:
    turn: NewTurn
    operation_id: str
    since: float
    was_tried: bool = False
    context: Context = field(default_factory=get_current)
    """The trace that the turn belongs to: it is saved elsewhere, and later."""


@dataclass(eq=False)
class _Session:
    """The turns of one session that are not saved yet, oldest first, and the save in progress."""

    waiting: deque[_Unsaved] = field(default_factory=deque[_Unsaved])
    saving: Future[None] | None = None

    @property
    def is_idle(self) -> bool:
        return not self.waiting and self.saving is None

    def is_due(self, moment: float) -> bool:
        """Return whether a turn has waited long enough that was not tried in vain before: those wait for the next."""
        newest = self.waiting[-1] if self.waiting and self.saving is None else None
        return newest is not None and not newest.was_tried and moment - self.waiting[0].since >= LINGER_SECONDS


class TurnRetryQueue:
    """Saves the turns of sessions. Safe to use from any thread and any event loop."""

    def __init__(self, shared: SharedMemory, *, seconds: float) -> None:
        self._shared = shared
        self._seconds = seconds
        self._lock = Lock()
        self._sessions: OrderedDict[Scope, _Session] = OrderedDict()
        self._is_watched = False

    def add(self, scope: Scope, turn: NewTurn, operation_id: str) -> None:
        """Queue a turn. It is saved with the next `flush`, or a moment later, whatever becomes of the caller."""
        with self._lock:
            session = self._sessions.setdefault(scope, _Session())
            session.waiting.append(_Unsaved(turn, operation_id, time.monotonic()))
            self._limit(scope, session)
            starts, self._is_watched = not self._is_watched, True
        if starts:
            BACKGROUND.submit(self._watch())

    async def append(self, scope: Scope, turn: NewTurn, operation_id: str) -> bool:
        """Save a turn after the unsaved ones of its session; return whether all of them were saved.

        Turns that could not be saved are retried with the next turn, in order, as long as the process lives.
        """
        self.add(scope, turn, operation_id)
        return await self.flush(scope)

    async def flush(self, scope: Scope) -> bool:
        """Save the waiting turns of a session now, and return whether all were saved.

        Saving continues when the caller is cancelled.
        """
        while True:
            with self._lock:
                session = self._sessions.get(scope)
                if session is None:
                    return True
                busy = session.saving
                batch: Sequence[_Unsaved] = ()
                if busy is None:
                    batch = [session.waiting[place] for place in range(min(SAVED_AT_ONCE, len(session.waiting)))]
                    session.saving = Future()
            if busy is not None:
                await asyncio.shield(asyncio.wrap_future(busy))
                if not self._has_new(scope):
                    return not self.unsaved(scope)
            elif not await self._save_batch(scope, session, batch):
                return False

    async def flush_all(self) -> None:
        """Save what waits in all sessions."""
        with self._lock:
            scopes = list(self._sessions)
        await asyncio.gather(*map(self.flush, scopes))

    def unsaved(self, scope: Scope) -> int:
        """Return how many turns of the session could not be saved yet."""
        with self._lock:
            session = self._sessions.get(scope)
            return 0 if session is None else sum(one.was_tried for one in session.waiting)

    async def _save_batch(self, scope: Scope, session: _Session, batch: Sequence[_Unsaved]) -> bool:
        done: Sequence[_Unsaved] = ()
        was_cancelled = True
        try:
            done = await self._saved(scope, batch)
            was_cancelled = False
        finally:
            with self._lock:
                for one in batch:
                    one.was_tried = not was_cancelled
                for one in done:
                    session.waiting.remove(one)
                saving, session.saving = session.saving, None
                if session.is_idle and self._sessions.get(scope) is session:
                    del self._sessions[scope]
            if saving is not None:
                saving.set_result(None)
            if was_cancelled and batch:
                BACKGROUND.submit(self.flush(scope))
        return len(done) == len(batch)

    async def _saved(self, scope: Scope, batch: Sequence[_Unsaved]) -> Sequence[_Unsaved]:
        """Save turns, and return those that need no saving any more: the others are retried."""
        try:
            await self._append(scope, batch)
        except UnavailableError as error:
            logger.warning("%d messages are not saved yet: %s", len(batch), error)
            return ()
        except MemoryServerError as error:
            if len(batch) == 1:  # it can never be saved, so it must not block the others
                logger.warning("a message cannot be saved: %s", error)
                return batch
            return await self._saved_one_by_one(scope, batch)
        return batch

    async def _saved_one_by_one(self, scope: Scope, batch: Sequence[_Unsaved]) -> Sequence[_Unsaved]:
        done: list[_Unsaved] = []
        for one in batch:
            one.was_tried = True
            if not (saved := await self._saved(scope, [one])):
                break
            done += saved
        return done

    async def _append(self, scope: Scope, batch: Sequence[_Unsaved]) -> None:
        if not batch:
            return
        turns, ids = [one.turn for one in batch], [one.operation_id for one in batch]
        was_tried = any(one.was_tried for one in batch)
        with span(WRITE, within=batch[0].context, gen_ai__operation__name=WRITE, memory__turns=len(batch)):
            await call_memory(
                self._seconds,
                self._shared,
                lambda memory: memory.conversations.append_all(
                    scope, turns, operation_ids=ids, may_be_repeated=was_tried
                ),
            )

    def _has_new(self, scope: Scope) -> bool:
        with self._lock:
            session = self._sessions.get(scope)
            return session is not None and any(not one.was_tried for one in session.waiting)

    async def _watch(self) -> None:
        """Save what nobody flushes, until nothing new waits."""
        while True:
            await asyncio.sleep(LINGER_SECONDS)
            with self._lock:
                moment = time.monotonic()
                due = [scope for scope, session in self._sessions.items() if session.is_due(moment)]
                is_over = not any(
                    session.saving is not None or (session.waiting and not session.waiting[-1].was_tried)
                    for session in self._sessions.values()
                )
                self._is_watched = not is_over
            if is_over:
                return
            await asyncio.gather(*map(self.flush, due))

    def _limit(self, scope: Scope, session: _Session) -> None:
        while len(session.waiting) > MOST_UNSAVED and session.saving is None:
            session.waiting.popleft()
            logger.warning("a message is lost: too many could not be saved")
        self._sessions.move_to_end(scope)
        if len(self._sessions) > MOST_SESSIONS:
            oldest = next((one for one, other in self._sessions.items() if other.saving is None), None)
            if oldest is not None:
                del self._sessions[oldest]
                logger.warning("the messages of a session are lost: too many could not be saved")
