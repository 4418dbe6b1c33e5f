"""The caretaker: one thread with an event loop of its own that looks after sessions in the background."""

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Coroutine
from contextlib import suppress
from datetime import datetime
from typing import Any

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.domain.summaries.agent_summaries import AgentSummary
from mcp_memory_server.errors import MemoryServerError
from mcp_memory_server.services.sessions.session_reader import LoadedSession
from mcp_memory_server.services.summaries.finalizer import SessionCare

IDLE_SECONDS = 15.0
"""How late a session may be summed up after its deadline."""
BUSY_SECONDS = 1.0
LISTED_SECONDS = 60.0
"""How often the table is asked for sessions that no deadline told of."""
FOLD_SECONDS = 3600.0
WATCHED_AGAIN_SECONDS = 3600.0
ROLLED_SECONDS = 5.0
ROLLED_AFTER = 10
"""Without copies nobody tells that turns make way: after so many turns it is looked for."""
CLOSING_SECONDS = 5.0
SESSIONS_KNOWN = 10_000

logger = logging.getLogger(__name__)


class Caretaker:
    """Is told what happens in sessions, and sees to what follows from it. Used from any thread and any event loop."""

    def __init__(self, care: SessionCare, *, has_cache: bool, runs: bool = True) -> None:
        self._care = care
        self._has_copies = has_cache
        self._runs = runs
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._is_woken = False
        self._watched: OrderedDict[Scope, float] = OrderedDict()
        self._appended: dict[Scope, int] = {}
        self._to_watch: dict[Scope, Tier] = {}
        self._to_roll: set[Scope] = set()
        self._to_finish: set[Scope] = set()
        self._rolled_at = self._listed_at = self._folded_at = float("-inf")

    def appended(self, scope: Scope, tier: Tier, *, trims: bool) -> None:
        """A turn was added to a session; ``trims`` tells whether others made way for it."""
        if not self._runs:
            return
        moment = time.monotonic()
        with self._changed:
            is_new = moment - self._watched.get(scope, float("-inf")) > WATCHED_AGAIN_SECONDS
            if is_new:
                self._to_watch[scope] = tier
                self._remember(scope, moment)
            if not self._has_copies:
                self._appended[scope] = self._appended.get(scope, 0) + 1
                trims = self._appended[scope] % ROLLED_AFTER == 0
            if trims:
                self._to_roll.add(scope)
        if is_new or trims:
            self.wake()

    async def ended(
        self, scope: Scope, session: LoadedSession, ended_at: datetime, written: AgentSummary | None = None
    ) -> None:
        """A session was ended by its caller. Once this returns, the next conversation is told of it.

        What takes longer, as a model does, is done later, by this process or another.
        """
        await self._care.ended(scope, ended_at)
        is_done = (self._runs or written is not None) and await self._care.hand_over(scope, session, ended_at, written)
        with self._changed:
            self._forget(scope)
            if not is_done:
                self._to_finish.add(scope)
        if not is_done:
            self.wake()

    def talked_to(self) -> list[Scope]:
        """Return the sessions that this process added turns to and that were not ended since."""
        with self._changed:
            return list(self._watched)

    def wake(self) -> None:
        """There is something to do."""
        if not self._runs:
            return
        with self._changed:
            self._is_woken = True
            # One that ended unforeseen, or did not come along when the process forked, is replaced as well.
            if not self._is_closed and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._run, name="memory-caretaker", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    async def close(self) -> None:
        """Sum up what was ended, as far as that goes in time. What is left is in the table, for the next one."""
        with self._changed:
            self._is_closed = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            await asyncio.to_thread(thread.join, CLOSING_SECONDS + BUSY_SECONDS)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while not self._is_closed:
                runner.run(self._until_closed(self._round()))
                with self._changed:
                    pause = BUSY_SECONDS if self._to_roll or self._to_finish else IDLE_SECONDS
                    self._changed.wait_for(lambda: self._is_woken or self._is_closed, pause)
                    self._is_woken = False
            runner.run(self._last_round())

    async def _until_closed(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work, and let go of it when the process ends: a model may take longer than anybody waits."""
        task = asyncio.create_task(work)
        while not task.done():
            await asyncio.wait([task], timeout=BUSY_SECONDS / 4)
            if self._is_closed and not task.done():
                await asyncio.wait([task], timeout=CLOSING_SECONDS / 2)
                task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def _round(self) -> None:
        moment = time.monotonic()
        await self._tell()
        if moment - self._rolled_at >= ROLLED_SECONDS:
            self._rolled_at = moment
            await self._care.roll(self._taken(self._to_roll))
        try:
            due = [*self._taken(self._to_finish), *await self._care.due_at_hand()]
            if moment - self._listed_at >= LISTED_SECONDS:
                due += await self._care.due()
                self._listed_at = moment
            await self._finish(due)
            if moment - self._folded_at >= FOLD_SECONDS:
                await self._care.fold_due()
                self._folded_at = moment
        except MemoryServerError as error:
            logger.warning("sessions are looked after later: %s", error)

    async def _last_round(self) -> None:
        with suppress(TimeoutError, MemoryServerError):
            async with asyncio.timeout(CLOSING_SECONDS / 2):
                await self._tell()
                await self._care.roll(self._taken(self._to_roll))
                await self._finish(self._taken(self._to_finish))

    async def _tell(self) -> None:
        with self._changed:
            sessions = list(self._to_watch.items())
            self._to_watch.clear()
        await self._care.watch(sessions)

    async def _finish(self, due: list[Scope]) -> None:
        if due and await self._care.finish(dict.fromkeys(due)):
            with self._changed:
                self._is_woken = True  # there may be more
                for scope in due:
                    self._forget(scope)

    def _taken(self, some: set[Scope]) -> list[Scope]:
        with self._changed:
            taken = list(some)
            some.clear()
        return taken

    def _remember(self, scope: Scope, moment: float) -> None:
        self._watched[scope] = moment
        self._watched.move_to_end(scope)
        while len(self._watched) > SESSIONS_KNOWN:
            self._appended.pop(self._watched.popitem(last=False)[0], None)

    def _forget(self, scope: Scope) -> None:
        self._watched.pop(scope, None)
        self._appended.pop(scope, None)
