"""Care of sessions: those that are over are summed up, what is old is folded, what made way is not forgotten."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TypeVar

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.domain.summaries.agent_summaries import AgentSummary
from mcp_memory_server.errors import CacheUnavailableError, MemoryServerError, TableDamagedError
from mcp_memory_server.services.sessions.session_reader import LoadedSession
from mcp_memory_server.services.sessions.session_stores import SessionStores
from mcp_memory_server.services.summaries.ending_leases import LOOKED_BACK, Endings
from mcp_memory_server.services.summaries.folding import Folded, Folding
from mcp_memory_server.services.summaries.rolling_summaries import RollingSummaries
from mcp_memory_server.services.summaries.session_ends import SessionEnds

T = TypeVar("T")

LOOKED_AT = 200
AT_ONCE = 8
DAMAGED_PAUSE = timedelta(days=1)

logger = logging.getLogger(__name__)


class SessionCare:
    """Everything that is done for sessions and that nobody waits for. Doing it twice, or elsewhere too, is harmless."""

    def __init__(
        self,
        stores: SessionStores,
        endings: Endings,
        ends: SessionEnds,
        rolling: RollingSummaries,
        folding: Folding,
    ) -> None:
        self._stores = stores
        self._endings = endings
        self._ends = ends
        self._rolling = rolling
        self._folding = folding

    async def watch(self, sessions: Iterable[tuple[Scope, Tier]]) -> None:
        """Have somebody look at these sessions when they must be over."""
        await self._each(sessions, lambda session: self._endings.watch(*session), "a session is not watched yet")

    async def ended(self, scope: Scope, ended_at: datetime) -> None:
        """Note in the table that a session was ended by its caller, so that somebody sums it up."""
        await self._endings.end(scope, ended_at)

    async def hand_over(
        self, scope: Scope, session: LoadedSession, ended_at: datetime, written: AgentSummary | None
    ) -> bool:
        """Have what the next conversation is told of this one stored now; tell whether nothing is left to do later.

        Raises:
            UnavailableError: What the agent wrote could not be stored.
        """
        if written is not None:
            await self._ends.keep(scope, session, ended_at, written)
            return False
        if not self._ends.asks_a_model:
            return bool(await self.finish([scope]))
        with suppress(MemoryServerError):  # it is summed up later in any case
            await self._ends.keep(scope, session, ended_at)
        return False

    async def roll(self, scopes: Iterable[Scope]) -> None:
        """Fold what made way in these sessions into their rolling summaries."""
        await self._each(scopes, self._rolling.roll, "a rolling summary is not written yet")

    async def finish(self, scopes: Iterable[Scope]) -> int:
        """Sum these sessions up if they are over, and return of how many nothing is left to do."""
        shuffled = list(scopes)
        random.shuffle(shuffled)  # several processes find the same ones, and should not meet at each of them
        return sum(await self._each(shuffled, self._finish, "a session is summed up later"))

    async def finish_due(self, *, back: timedelta = LOOKED_BACK) -> int:
        """Sum up all sessions that are over, and return how many that were: by their deadlines, and by the table."""
        done = 0
        while due := await self.due(back=back):
            some = await self.finish(due)
            done += some
            if not some:
                break  # the rest is somebody else's, or has to wait
        return done

    async def due(self, *, back: timedelta = LOOKED_BACK) -> Sequence[Scope]:
        """Return sessions that somebody has to look at."""
        return list(dict.fromkeys([*await self.due_at_hand(), *await self._endings.due(LOOKED_AT, back=back)]))

    async def due_at_hand(self) -> Sequence[Scope]:
        """Return sessions whose deadline has passed, as far as the session memory tells."""
        copies = self._stores.copies
        if copies is None or self._stores.trust.is_disconnected:
            return ()
        try:
            return await copies.due(self._stores.now(), limit=LOOKED_AT)
        except CacheUnavailableError:
            return ()  # the table lists them too

    async def fold_due(self, progress: Callable[[Folded], None] = lambda _: None) -> Folded:
        """Fold what is old enough, of every user."""
        return await self._folding.fold_due(progress)

    async def _finish(self, scope: Scope) -> int:
        try:
            done = await self._ends.finish(scope)
        except TableDamagedError as error:
            logger.warning("a session cannot be summed up: %s", error)
            await self._endings.look_again(scope, await self._endings.read(scope), self._stores.now() + DAMAGED_PAUSE)
            done = True
        if done and self._stores.copies is not None and not self._stores.trust.is_disconnected:
            with suppress(CacheUnavailableError):  # the deadline is found again, and nothing is left to do then
                await self._stores.copies.settle_deadline(scope, self._stores.now())
        return int(done)

    async def _each(self, entries: Iterable[T], work: Callable[[T], Awaitable[int | None]], trouble: str) -> list[int]:
        """Do the work for each, some at once. What fails is left for later: one session must not hold others up."""
        limit = asyncio.Semaphore(AT_ONCE)

        async def one(entry: T) -> int:
            async with limit:
                try:
                    return int(await work(entry) or 0)
                except MemoryServerError as error:
                    logger.warning("%s: %s", trouble, error)
                    return 0

        return list(await asyncio.gather(*(one(entry) for entry in entries)))
