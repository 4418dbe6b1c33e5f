"""Scheduling of the finalizer: which of its steps is due when, in the background of a process."""

import asyncio
import logging
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from mcp_memory_server.concurrency.background_worker import BackgroundWorker
from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.domain.summaries.agent_summaries import AgentSummary
from mcp_memory_server.errors import MemoryServerError
from mcp_memory_server.services.sessions.session_reader import LoadedSession
from mcp_memory_server.services.summaries.session_finalizer import SessionFinalizer

IDLE_SECONDS = 15.0
"""How late a session may be summarized after its deadline."""
BUSY_SECONDS = 1.0
LISTED_SECONDS = 60.0
"""How often the table is asked for due sessions. The session cache is asked in every round."""
LISTING_SECONDS = 1.0
"""So long the first append to a session waits until the table lists the session. A slower table is not waited for."""
FOLD_SECONDS = 3600.0
WATCHED_AGAIN_SECONDS = 3600.0
ROLLED_SECONDS = 5.0
ROLLED_AFTER = 10
"""Without a session cache nothing reports trimmed turns: the rolling summary is updated after so many turns."""
CLOSING_SECONDS = 5.0
SESSIONS_KEPT = 10_000

_NEVER = float("-inf")

logger = logging.getLogger(__name__)


@dataclass
class _Active:
    """A session that gets turns from this process."""

    watched_at: float = _NEVER
    appended: int = 0


class FinalizerWorker:
    """Observes the sessions of this process and runs the finalizer. See `SessionObserver`."""

    def __init__(self, finalizer: SessionFinalizer, *, has_cache: bool, runs: bool = True) -> None:
        """Unless it ``runs``, nothing happens in the background."""
        self._finalizer = finalizer
        self._has_cache = has_cache
        self._runs = runs
        self._worker = BackgroundWorker("memory-finalizer", self._round, self._last_round)
        self._lock = Lock()
        self._active = LruCache[Scope, _Active](SESSIONS_KEPT)
        self._listings: set[asyncio.Task[None]] = set()
        self._to_watch: dict[Scope, Tier] = {}
        self._to_roll: set[Scope] = set()
        self._to_finish: set[Scope] = set()
        self._rolled_at = self._listed_at = self._folded_at = _NEVER

    async def appended(self, scope: Scope, tier: Tier, *, trims: bool) -> None:
        """See `SessionObserver`."""
        moment = time.monotonic()
        with self._lock:
            session = self._active.get_or_add(scope, _Active)
            is_new = moment - session.watched_at > WATCHED_AGAIN_SECONDS
            if is_new:
                session.watched_at = moment
            if not self._has_cache:
                session.appended += 1
                trims = session.appended % ROLLED_AFTER == 0
            if trims and self._runs:
                self._to_roll.add(scope)
        if is_new and self._has_cache:
            self._watch_later(scope, tier)
        elif is_new:
            listing = asyncio.create_task(self._list(scope, tier))
            self._listings.add(listing)
            listing.add_done_callback(self._listings.discard)
            await asyncio.wait([listing], timeout=LISTING_SECONDS)
        if is_new or trims:
            self.wake()

    async def ended(
        self, scope: Scope, session: LoadedSession, ended_at: datetime, summary: AgentSummary | None = None
    ) -> None:
        """See `SessionObserver`. What takes longer, as a model does, is done later, by this process or another."""
        await self._finalizer.record_end(scope, ended_at)
        is_done = False
        if self._runs or summary is not None:
            is_done = await self._finalizer.hand_over(scope, session, ended_at, summary)
        with self._lock:
            self._active.pop(scope)
            if not is_done:
                self._to_finish.add(scope)
        if not is_done:
            self.wake()

    def active_sessions(self) -> list[Scope]:
        """See `SessionObserver`."""
        return [scope for scope, _ in self._active.items()]

    def wake(self) -> None:
        """Begin a round now."""
        if self._runs:
            self._worker.wake()

    async def close(self) -> None:
        """Summarize what was ended, as far as time allows. The rest is listed in the table, for other processes."""
        await self._worker.close(CLOSING_SECONDS + BUSY_SECONDS, round_within=CLOSING_SECONDS / 2)

    async def _list(self, scope: Scope, tier: Tier) -> None:
        """List the session in the table now, because nothing else does."""
        try:
            await self._finalizer.list_running(scope, tier)
        except (MemoryServerError, asyncio.CancelledError):
            self._watch_later(scope, tier)

    def _watch_later(self, scope: Scope, tier: Tier) -> None:
        with self._lock:
            self._to_watch[scope] = tier

    async def _round(self) -> float:
        """Do what is due, and return the seconds until the next round."""
        moment, has_finished = time.monotonic(), False
        await self._watch()
        if moment - self._rolled_at >= ROLLED_SECONDS:
            self._rolled_at = moment
            await self._finalizer.roll(self._taken(self._to_roll))
        try:
            due = [*self._taken(self._to_finish), *await self._finalizer.due_in_cache()]
            if moment - self._listed_at >= LISTED_SECONDS:
                due += await self._finalizer.due()
                self._listed_at = moment
            has_finished = await self._finish(dict.fromkeys(due))
            if moment - self._folded_at >= FOLD_SECONDS:
                await self._finalizer.fold_due()
                self._folded_at = moment
        except MemoryServerError as error:
            logger.warning("sessions are finalized later: %s", error)
        if has_finished:
            return 0.0  # more may be due than were listed
        return BUSY_SECONDS if self._to_roll or self._to_finish else IDLE_SECONDS

    async def _last_round(self) -> None:
        with suppress(TimeoutError, MemoryServerError):
            async with asyncio.timeout(CLOSING_SECONDS / 2):
                await self._watch()
                await self._finalizer.roll(self._taken(self._to_roll))
                await self._finish(self._taken(self._to_finish))

    async def _watch(self) -> None:
        with self._lock:
            sessions = dict(self._to_watch)
            self._to_watch.clear()
        await self._finalizer.watch(sessions)

    async def _finish(self, due: Collection[Scope]) -> bool:
        if not due or not await self._finalizer.finish(due):
            return False
        with self._lock:
            for scope in due:
                self._active.pop(scope)
        return True

    def _taken(self, sessions: set[Scope]) -> list[Scope]:
        with self._lock:
            taken = list(sessions)
            sessions.clear()
        return taken
