"""Finalizing sessions: one summary of each session that is over, and the facts that were stated in it.

A record in the session's own partition (`schema.ending_records`) says when the session is due, who has leased it, and
up to which turn (``upto``) it is summarized.

    (no record) --append--> watched --idle for its lifetime, or ended by its caller--> due --acquire--> leased
                               ^                                                        ^                 |
                               |                                                        +--lease expired--+
                               |                                                                          |
                               +--------------- append --------------- done <--summarize, one transaction-+

1. A session to which turns are added is listed in the table as due at the latest moment at which it can be over. The
   session cache reports most sessions earlier; losing it delays summaries and loses none.
2. A session is over if its caller ended it after its last turn, or if it has been idle for its lifetime. One that is
   due but not over is postponed.
3. Acquiring the lease raises the version of the record. Summary, completion and version of the user are written in one
   transaction on the condition that the record still has that version: a process that lost its lease writes nothing.
4. A lease expires after `LEASE`; then another process may acquire it.
5. Each turn is summarized once: after completion ``upto`` is the last turn, and the session is not listed any more.
6. What an agent wrote when it ended the session is stored before the call returns. It is continued by later turns and
   never replaced; a summary that was made without a model to bridge the time is replaced.
7. Learning is repeatable: the operation id of a learned fact is that of its turn.
8. What the user has forgotten is in no summary and is not learned again.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Lock
from uuid import uuid4

from mcp_memory_server.domain.kernel.log_labels import log_label
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.domain.sessions.turns import View
from mcp_memory_server.domain.summaries.agent_summaries import AgentSummary, as_written, continued
from mcp_memory_server.domain.summaries.material import material_from
from mcp_memory_server.domain.summaries.summary import BUILT_IN, Draft, Summary, open_questions, session_summary
from mcp_memory_server.errors import (
    CacheUnavailableError,
    ConflictError,
    InvalidRequestError,
    MemoryServerError,
    TableDamagedError,
    UnavailableError,
)
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.ending_records import Ending
from mcp_memory_server.services.sessions.session_reader import LoadedSession, SessionReader
from mcp_memory_server.services.sessions.session_stores import SessionStores
from mcp_memory_server.services.summaries.folding import Folded, Folding
from mcp_memory_server.services.summaries.lessons import Lessons
from mcp_memory_server.services.summaries.rolling_summaries import RollingSummaries
from mcp_memory_server.services.summaries.session_leases import LONGEST_LIFE, LOOKED_BACK, SessionLeases
from mcp_memory_server.services.summaries.summaries import WRITE_ATTEMPTS, ForgottenThings, Summaries
from mcp_memory_server.services.summaries.summarizing import Summarizing

MOST_TURNS = 200
"""Of a longer session the last turns are read, and the rolling summary of those before."""
MOST_DUE = 200
AT_ONCE = 8
DAMAGED_PAUSE = timedelta(days=1)

logger = logging.getLogger(__name__)


class SessionFinalizer:
    """Watches, leases, summarizes and hands over sessions. Safe to repeat, and to run in many processes."""

    def __init__(
        self,
        table: ItemTable,
        stores: SessionStores,
        reader: SessionReader,
        leases: SessionLeases,
        summaries: Summaries,
        summarizing: Summarizing,
        lessons: Lessons,
        rolling: RollingSummaries,
        folding: Folding,
    ) -> None:
        self._table = table
        self._stores = stores
        self._reader = reader
        self._leases = leases
        self._summaries = summaries
        self._summarizing = summarizing
        self._lessons = lessons
        self._rolling = rolling
        self._folding = folding
        self._lock = Lock()
        self._in_progress: set[Scope] = set()

    async def watch(self, sessions: Mapping[Scope, Tier]) -> None:
        """List these sessions in the table as due when they must be over."""
        await self._each(sessions, lambda scope: self._leases.watch(scope, sessions[scope]), "it is not watched yet")

    async def list_running(self, scope: Scope, tier: Tier) -> None:
        """List one session in the table as due when it must be over.

        Raises:
            UnavailableError: The table did not answer.
        """
        await self._leases.watch(scope, tier)

    async def record_end(self, scope: Scope, ended_at: datetime) -> None:
        """List a session as due now: its caller has ended it."""
        await self._leases.record_end(scope, ended_at)

    async def hand_over(
        self, scope: Scope, session: LoadedSession, ended_at: datetime, agent_summary: AgentSummary | None
    ) -> bool:
        """Store now what the next conversation needs of this one; return whether the session is done by that.

        Raises:
            UnavailableError: What the agent wrote could not be stored.
        """
        if agent_summary is not None:
            await self._store_at_once(scope, session, ended_at, agent_summary)
            return False
        if not self._summarizing.asks_a_model:
            return bool(await self.finish([scope]))
        with suppress(MemoryServerError):  # it is summarized later in any case
            await self._store_at_once(scope, session, ended_at)
        return False

    async def roll(self, scopes: Iterable[Scope]) -> None:
        """Add turns that the session cache has trimmed to the rolling summaries of these sessions."""
        await self._each(scopes, self._rolling.roll, "its rolling summary is not written yet")

    async def finish(self, scopes: Iterable[Scope]) -> int:
        """Summarize those of the sessions that are over; return of how many nothing is left to do."""
        shuffled = list(scopes)
        random.shuffle(shuffled)  # processes that find the same sessions should not compete for each of them
        return sum(await self._each(shuffled, self._finish_and_settle, "it is summarized later"))

    async def finish_due(self, *, back: timedelta = LOOKED_BACK) -> int:
        """Summarize all sessions that are over, and return how many there were."""
        done = 0
        while due := await self.due(back=back):
            some = await self.finish(due)
            done += some
            if not some:
                break  # other processes hold the rest, or it has to wait
        return done

    async def learn_from_last(self, scope: Scope, *, turns: int = 2, with_model: bool = False) -> None:
        """Learn what was stated in the last turns of a running session, by rules or by the model that summarizes.

        The end of the session learns the same again, which changes nothing.

        Raises:
            UnavailableError: The table did not answer.
        """
        if not 1 <= turns <= MOST_TURNS:
            raise InvalidRequestError(f"1 to {MOST_TURNS} turns can be learned from, got {turns}")
        session = await self._reader.last(scope, turns, View.SUMMARY)
        material = material_from(session.turns, None, ())
        if with_model:
            draft, _ = await self._summarizing.draft(scope, material)
        else:
            draft = await self._summarizing.draft_here(material)
        if draft.lessons:
            await self._learn(scope, draft)

    async def due(self, *, back: timedelta = LOOKED_BACK) -> Sequence[Scope]:
        """Return due sessions, by the session cache and by the table."""
        return list(dict.fromkeys([*await self.due_in_cache(), *await self._leases.list_due(MOST_DUE, back=back)]))

    async def due_in_cache(self) -> Sequence[Scope]:
        """Return the sessions whose deadline in the session cache has passed; none if it does not answer."""
        deadlines = self._stores.deadlines
        if deadlines is None or self._stores.cache_epoch.is_disconnected:
            return ()
        try:
            return await deadlines.due(self._stores.now(), limit=MOST_DUE)
        except CacheUnavailableError:
            return ()  # the table lists them too

    async def fold_due(self, progress: Callable[[Folded], None] = lambda _: None) -> Folded:
        """Fold the summaries that are old enough, of every user."""
        return await self._folding.fold_due(progress)

    async def _store_at_once(
        self, scope: Scope, session: LoadedSession, ended_at: datetime, agent_summary: AgentSummary | None = None
    ) -> None:
        """Store what the agent wrote, or else a summary of the loaded turns that is made without a model."""
        if not session.turns and agent_summary is None:
            return
        stored, forgotten = await asyncio.gather(self._summaries.stored(scope), self._summaries.forgotten(scope))
        material = material_from(session.turns, None, open_questions(stored.of_others(scope)))
        draft = await self._summarizing.draft_here(material)
        since = session.turns[0].at if session.turns else ended_at
        summary = session_summary(
            draft, scope.session_id or "", since, ended_at, turn_count=session.turn_count, made_by=BUILT_IN
        )
        if agent_summary is not None:
            summary = as_written(summary, agent_summary)
        await self._summaries.put(scope, forgotten.taken_from(summary))

    async def _finish_and_settle(self, scope: Scope) -> int:
        """Finish the session, unless this process is at it: a lease only keeps other processes away."""
        with self._lock:
            if scope in self._in_progress:
                return 0
            self._in_progress.add(scope)
        try:
            return await self._finish_alone(scope)
        finally:
            with self._lock:
                self._in_progress.discard(scope)

    async def _finish_alone(self, scope: Scope) -> int:
        try:
            done = await self._finish(scope)
        except TableDamagedError as error:
            logger.warning("%s: it cannot be summarized, and is tried again in a day: %s", log_label(scope), error)
            until = self._stores.now() + DAMAGED_PAUSE
            await self._leases.postpone(scope, await self._leases.read(scope), until)
            done = True
        if done and self._stores.deadlines is not None and not self._stores.cache_epoch.is_disconnected:
            with suppress(CacheUnavailableError):  # the deadline is reported again, and nothing is left to do then
                await self._stores.deadlines.settle(scope, self._stores.now())
        return int(done)

    async def _finish(self, scope: Scope) -> bool:
        """Summarize the session if it is over and not summarized; return whether nothing is left to do now."""
        record = await self._leases.read(scope)
        if self._leases.is_held_elsewhere(scope, record):
            return False
        session = await self._reader.last(scope, MOST_TURNS, View.SUMMARY)
        if session.status is not Status.COMPLETE:
            raise UnavailableError("not all turns of the session could be read")
        if not session.turns:
            await self._leases.discard(scope, record)
            return True
        last = session.turns[-1]
        if last.id > record.upto and not self._leases.is_over(record, last, session.turn_count):
            await self._leases.postpone(scope, record, last.at + LONGEST_LIFE)
            return True
        if last.id <= record.upto and record.due is None:
            return True
        lease = await self._leases.acquire(scope, record)
        if lease is None:
            return False
        if last.id <= lease.upto:
            return await self._complete(scope, lease, last.id, None)
        return await self._summarize(scope, session, lease)

    async def _summarize(self, scope: Scope, session: LoadedSession, lease: Ending) -> bool:
        stored = await self._summaries.stored(scope)
        # Without a summary of its own it was folded into that of its week: the turns up to then are part of that.
        turns = [turn for turn in session.turns if stored.item_of(scope) is not None or turn.id > lease.upto]
        by_agent = stored.by_agent(scope)
        if by_agent is not None:
            turns = [turn for turn in turns if turn.at > by_agent.until]
            if not turns:
                return await self._learn_only(scope, session, lease)
        earlier = session.summary if session.cursor is not None else None
        material = material_from(turns, earlier, open_questions(stored.of_others(scope)))
        draft, made_by = await self._summarizing.draft(scope, material)
        forgotten = await self._learn(scope, draft)
        is_whole = len(turns) == len(session.turns)
        summary = session_summary(
            draft,
            scope.session_id or "",
            turns[0].at,
            turns[-1].at,
            turn_count=session.turn_count if is_whole else len(turns),
            made_by=made_by,
        )
        if by_agent is not None:
            summary = replace(continued(by_agent, summary), turn_count=session.turn_count)
        return await self._complete(scope, lease, turns[-1].id, forgotten.taken_from(summary))

    async def _learn_only(self, scope: Scope, session: LoadedSession, lease: Ending) -> bool:
        """Learn from a session that its agent has summarized: no model is paid to do that again."""
        await self._learn(scope, await self._summarizing.draft_here(material_from(session.turns, None, ())))
        return await self._complete(scope, lease, session.turns[-1].id, None)

    async def _learn(self, scope: Scope, draft: Draft) -> ForgottenThings:
        """Learn what was stated, but for what the user has forgotten, which is returned."""
        forgotten = await self._summaries.forgotten(scope)
        await self._lessons.learn(scope, [one for one in draft.lessons if not forgotten.has(one.text)])
        return forgotten

    async def _complete(self, scope: Scope, lease: Ending, upto: str, summary: Summary | None) -> bool:
        """Write summary and completion, both or neither; return whether that was done, False if the lease was lost."""
        if summary is not None and summary.expires_at is not None and summary.expires_at <= self._stores.now():
            summary = None  # of an old conversation that was imported
        completion = self._leases.completion(scope, lease, upto, summarized=summary is not None)
        for _ in range(WRITE_ATTEMPTS):
            writes = [] if summary is None else await self._summaries.writes_of(scope, summary)
            try:
                await self._table.write([*writes, completion], operation_id=uuid4().hex)
            except ConflictError:
                # Others may have written for the same user, or the lease was lost.
                if (await self._leases.read(scope)).version != lease.version:
                    return False
            else:
                return True
        raise UnavailableError("others kept writing for the same user; the session is summarized later")

    async def _each(
        self, scopes: Iterable[Scope], work: Callable[[Scope], Awaitable[int | None]], trouble: str
    ) -> list[int]:
        """Do the work for each session, several at once. One that fails is left for later and holds up no other."""
        limit = asyncio.Semaphore(AT_ONCE)

        async def one(scope: Scope) -> int:
            async with limit:
                try:
                    return int(await work(scope) or 0)
                except MemoryServerError as error:
                    logger.warning("%s: %s: %s", log_label(scope), trouble, error)
                    return 0

        return list(await asyncio.gather(*map(one, scopes)))
