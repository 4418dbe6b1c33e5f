"""Conversations: append a turn, load a session at once, page back through all of it, end it."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from mcp_memory_server.domain.conversations.importance import importance
from mcp_memory_server.domain.conversations.transcripts import TranscribedTurn
from mcp_memory_server.domain.kernel.credentials import data_without_credentials, without_credentials
from mcp_memory_server.domain.kernel.items import check_operation_id
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.acknowledge import Acknowledge
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.domain.sessions.queued_turns import QueuedTurn
from mcp_memory_server.domain.sessions.turns import NewTurn, Turn, View, kept_as
from mcp_memory_server.domain.summaries.agent_summaries import AgentSummary
from mcp_memory_server.errors import CacheUnavailableError, InvalidRequestError, UnavailableError
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.schema.turn_records import session_partition
from mcp_memory_server.services.kernel.retries import retry_on_conflict
from mcp_memory_server.services.sessions.outbox_worker import OutboxWorker
from mcp_memory_server.services.sessions.session_observer import SessionObserver
from mcp_memory_server.services.sessions.session_reader import LoadedSession, SessionReader
from mcp_memory_server.services.sessions.session_stores import SessionStores
from mcp_memory_server.services.sessions.turn_sequencer import PendingTurn, SequencedTurn, TurnSequencer

MOST_TURNS = 500
SESSIONS_AT_ONCE = 8
MOST_KNOWN = 100_000
"""So many turns of a session are looked at before more are brought along."""


@dataclass(frozen=True)
class AppendedTurn:
    """The turn as it was kept. It was there before if the operation was repeated.

    A ``pending`` turn is durable in the outbox, and will be in the table. So many credentials were ``redacted`` in it.
    """

    turn: Turn
    repeated: bool = False
    pending: bool = False
    redacted: int = 0


@dataclass(frozen=True)
class EndedSession:
    """What a session had come to when it was ended."""

    ended_at: datetime
    turn_count: int
    token_count: int


@dataclass(frozen=True)
class Transcribed:
    """How many turns were added and known before, in how many sessions, and how many credentials were redacted."""

    added: int
    known: int
    sessions: int
    redacted: int = 0


class Conversations:
    """The turns of sessions. An acknowledged turn is never lost, and no turn is kept twice."""

    def __init__(
        self,
        stores: SessionStores,
        reader: SessionReader,
        sequencer: TurnSequencer,
        outbox_worker: OutboxWorker,
        count: TokenCounter,
        *,
        observer: SessionObserver,
        acknowledge: Acknowledge = Acknowledge.TABLE,
    ) -> None:
        self._stores = stores
        self._reader = reader
        self._sequencer = sequencer
        self._outbox_worker = outbox_worker
        self._count = count
        self._observer = observer
        self._acknowledge = acknowledge

    async def append(
        self, scope: Scope, new: NewTurn, *, operation_id: str | None = None, tier: Tier = Tier.STANDARD
    ) -> AppendedTurn:
        """Keep a turn and return it with its id, which sorts after that of every turn acknowledged before.

        The same operation id twice keeps one turn, and counts it once. Credentials are redacted before it is stored.

        Raises:
            UnavailableError: Neither the table nor the outbox took it.
        """
        check_operation_id(operation_id)
        session_partition(scope)  # refuses a scope that names no session
        new, redacted = _redacted(new)
        pending = PendingTurn(scope, self._kept(new), operation_id or uuid4().hex, tier, operation_id is not None)
        # Again in the unlikely case that two writers chose the same id.
        appended = await retry_on_conflict(lambda: self._append(pending))
        return replace(appended, redacted=redacted)

    async def transcribe(
        self,
        scope: Scope,
        turns: Sequence[TranscribedTurn],
        progress: Callable[[int, int], None] = lambda _done, _all: None,
    ) -> Transcribed:
        """Append the turns of old conversations, each with its own time. Twice is harmless: what is known stays.

        A turn's time is its own as long as its session holds none that is later.
        """
        sessions: dict[Scope, list[TranscribedTurn]] = {}
        for one in turns:
            sessions.setdefault(Scope(scope.user_id, one.session_id), []).append(one)
        limit, done = asyncio.Semaphore(SESSIONS_AT_ONCE), itertools.count(1)

        async def append_all(session: Scope) -> list[AppendedTurn]:
            async with limit:
                known = await self._stores.stored.recent(session, MOST_KNOWN)
                new = [one for one in sessions[session] if one.operation_id not in known]
                appended: list[AppendedTurn] = []
                for one in new:
                    appended.append(await self.append(session, one.turn, operation_id=one.operation_id))
                    progress(next(done), len(turns))
                await self._stores.stored.rest(session)
                return appended

        added = list(itertools.chain(*await asyncio.gather(*map(append_all, sessions))))
        redacted = sum(one.redacted for one in added)
        return Transcribed(len(added), len(turns) - len(added), len(sessions), redacted)

    async def load(
        self, scope: Scope, *, turns: int | None = None, view: View = View.CONTEXT, tier: Tier = Tier.STANDARD
    ) -> LoadedSession:
        """Return the session as it is at hand, within its budget; or exactly so many of the last turns.

        At hand are the last turns, of which the least important made way: one request to the copy, or one query to the
        table, however long the session is. Exactly so many turns always come from the table, with one query.
        """
        session_partition(scope)
        if turns is None:
            return await self._reader.load(scope, view=view, tier=tier)
        _check_limit(turns)
        return await self._reader.last(scope, turns, view)

    async def before(self, scope: Scope, cursor: str, *, turns: int = 20, view: View = View.CONTEXT) -> LoadedSession:
        """Return the turns before a cursor, oldest first, and the cursor that leads further back.

        New turns do not disturb it: a cursor is a place in the conversation.
        """
        _check_limit(turns)
        return await self._reader.before(scope, cursor, turns, view)

    async def end(
        self,
        scope: Scope,
        *,
        summary: str | None = None,
        open_questions: Sequence[str] = (),
        operation_id: str | None = None,
    ) -> EndedSession:
        """Note that the session is over, and let go of its copy. A turn appended later makes it go on.

        The next conversation is told of it at once: by the ``summary`` and the ``open_questions`` of whoever ends it,
        or else by a summary of its turns.
        """
        check_operation_id(operation_id)
        written = AgentSummary(summary, tuple(open_questions)) if summary is not None or open_questions else None
        loaded = await self._reader.load(scope)
        ended_at = max([self._stores.now(), *(turn.at for turn in loaded.turns)])
        await self._stores.stored.end(scope, ended_at, operation_id or uuid4().hex)
        await self._observer.ended(scope, loaded, ended_at, written)
        if self._stores.copies is not None and not self._stores.trust.is_disconnected:
            with suppress(CacheUnavailableError):  # it expires by itself, and is right until then
                await self._stores.copies.drop(scope)
        return EndedSession(ended_at, loaded.turn_count, loaded.token_count)

    async def end_all(self) -> None:
        """End the sessions that turns were added to through this process: its client has left."""
        for scope in self._observer.active_sessions():
            with suppress(UnavailableError):  # its deadline ends it then
                await self.end(scope)

    def _kept(self, new: NewTurn) -> Turn:
        tokens = self._count(new.content) if new.token_count is None else new.token_count
        weight = importance(new.role, new.content) if new.importance is None else new.importance
        return kept_as(new, ulid_after(None, new.said_at or self._stores.now()), tokens=tokens, importance=weight)

    async def _append(self, pending: PendingTurn) -> AppendedTurn:
        straight = self._acknowledge is Acknowledge.TABLE and not self._outbox_worker.holds(pending.scope)
        placed = await self._sequencer.place(pending, enqueue=self._stores.outbox_is_in_cache and not straight)
        turn, repeated = placed.pending.turn, placed.repeated
        self._observer.appended(pending.scope, pending.tier, trims=placed.trims)
        if straight and self._sequencer.may_be_stored(placed) and await self._stored(placed):
            return AppendedTurn(turn, repeated)
        await self._queue(placed)
        return AppendedTurn(turn, repeated, pending=True)

    async def _stored(self, placed: SequencedTurn) -> bool:
        """Write the turn to the table; tell whether it surely is there, and no copy misses it."""
        pending = placed.pending
        try:
            await self._stores.timeout.ask(
                lambda: self._stores.stored.put(
                    pending.scope, pending.turn, pending.operation_id, again=placed.repeated
                )
            )
        except UnavailableError:
            if self._stores.outbox is None:
                raise
            return False
        return await self._sequencer.is_known(placed)

    async def _queue(self, placed: SequencedTurn) -> None:
        pending = placed.pending
        queued = QueuedTurn(pending.scope, pending.turn, pending.operation_id, self._stores.now())
        await self._outbox_worker.queue(queued, is_there=placed.is_queued)


def _redacted(new: NewTurn) -> tuple[NewTurn, int]:
    """Return the turn without credentials, and how many there were."""
    content, in_content = without_credentials(new.content)
    calls, in_calls = data_without_credentials(new.tool_calls)
    page, in_page = data_without_credentials(new.page_context)
    redacted = in_content + in_calls + in_page
    return (replace(new, content=content, tool_calls=tuple(calls), page_context=page) if redacted else new), redacted


def _check_limit(turns: int) -> None:
    if not 1 <= turns <= MOST_TURNS:
        raise InvalidRequestError(f"1 to {MOST_TURNS} turns can be loaded at once, got {turns}")
