"""Conversations: append a turn, load the last turns of a session, page back through all of it, end it."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import uuid4

from mcp_memory_server.domain.conversations.importance import importance
from mcp_memory_server.domain.conversations.transcripts import TranscribedTurn
from mcp_memory_server.domain.kernel.credentials import data_without_credentials, without_credentials
from mcp_memory_server.domain.kernel.item_checks import check_operation_id
from mcp_memory_server.domain.kernel.page_limits import check_limit
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import NewTurn, Turn, View, kept_as
from mcp_memory_server.domain.summaries.agent_summaries import AgentSummary
from mcp_memory_server.errors import CacheUnavailableError, ConflictError, InvalidRequestError, UnavailableError
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.schema.turn_records import session_partition
from mcp_memory_server.services.kernel.retries import retry_on_conflict
from mcp_memory_server.services.sessions.session_observer import SessionObserver
from mcp_memory_server.services.sessions.session_reader import LoadedSession, SessionReader
from mcp_memory_server.services.sessions.session_stores import SessionStores
from mcp_memory_server.services.sessions.stored_turns import MOST_AT_ONCE
from mcp_memory_server.services.sessions.turn_appender import AppendedTurn, AppendRequest, TurnAppender

SESSIONS_AT_ONCE = 8
CLOCKS_DIFFER = timedelta(hours=1)
"""So much may the clock of a caller be ahead of ours. Such a turn is said now: later ones must not get later times."""
MOST_KNOWN = 100_000
"""How many turns of a session are compared with those to be transcribed."""


@dataclass(frozen=True)
class EndedSession:
    """The counters of a session when it was ended."""

    ended_at: datetime
    turn_count: int
    token_count: int


@dataclass(frozen=True)
class Transcribed:
    """How many turns were added, how many were stored before, in how many sessions; and the credentials redacted."""

    added: int
    known: int
    sessions: int
    redacted: int = 0


class Conversations:
    """The turns of sessions. An acknowledged turn is never lost, and no turn is stored twice."""

    def __init__(
        self,
        stores: SessionStores,
        reader: SessionReader,
        appender: TurnAppender,
        count: TokenCounter,
        *,
        observer: SessionObserver,
    ) -> None:
        self._stores = stores
        self._reader = reader
        self._appender = appender
        self._count = count
        self._observer = observer
        self._in_flight: dict[tuple[Scope, str], Future[AppendedTurn]] = {}

    async def append(
        self, scope: Scope, new: NewTurn, *, operation_id: str | None = None, tier: Tier = Tier.STANDARD
    ) -> AppendedTurn:
        """Append a turn and return it with its id, which sorts after that of every turn acknowledged before.

        Repeating an operation id stores and counts one turn. Credentials are redacted before it is stored.

        Raises:
            UnavailableError: Neither the table nor the outbox took it.
        """
        request, redacted = self._request(scope, new, operation_id, tier)
        appended = await self._once(request)
        return replace(appended, redacted=redacted) if redacted else appended

    async def _once(self, request: AppendRequest) -> AppendedTurn:
        """Append the turn. While another call of the same operation is in flight, wait for it and return its turn."""
        if not request.may_be_repeated:
            return await self._append_one(request)
        operation = (request.write.scope, request.write.operation_id)
        own = Future[AppendedTurn]()
        while (running := self._in_flight.setdefault(operation, own)) is not own:
            try:
                done = await asyncio.shield(asyncio.wrap_future(running))
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not running.cancelled() or (task is not None and task.cancelling()):
                    raise
                continue  # the other call failed
            return replace(done, repeated=True)
        try:
            appended = await self._append_one(request)
            own.set_result(appended)
            return appended
        finally:
            del self._in_flight[operation]
            own.cancel()  # unless it is done

    async def _append_one(self, request: AppendRequest) -> AppendedTurn:
        try:
            return await self._appender.append(request)
        except ConflictError:  # another writer chose the same id
            return await retry_on_conflict(lambda: self._appender.append(request))

    async def append_all(
        self,
        scope: Scope,
        turns: Sequence[NewTurn],
        *,
        operation_ids: Sequence[str] | None = None,
        may_be_repeated: bool = True,
        tier: Tier = Tier.STANDARD,
    ) -> tuple[AppendedTurn, ...]:
        """Append turns that were said one after another, as `append` does, in one durable write where that is possible.

        Operation ids that were never sent before need not be compared with those of earlier turns
        (``may_be_repeated=False``).

        Raises:
            InvalidRequestError: There is not one operation id for each turn.
            UnavailableError: Neither the table nor the outbox took all of them. Repeat the call with the same operation
                ids.
        """
        ids: Sequence[str | None] = [None] * len(turns) if operation_ids is None else operation_ids
        if len(ids) != len(turns):
            raise InvalidRequestError(f"{len(turns)} turns need {len(turns)} operation ids, got {len(ids)}")
        requests = [self._request(scope, new, id_, tier) for new, id_ in zip(turns, ids, strict=True)]
        if not may_be_repeated:
            requests = [(replace(request, may_be_repeated=False), redacted) for request, redacted in requests]
        appended: list[AppendedTurn] = []
        for start in range(0, len(requests), MOST_AT_ONCE):
            some = requests[start : start + MOST_AT_ONCE]
            appended += await self._append_together([request for request, _ in some])
        return tuple(
            replace(one, redacted=redacted) if redacted else one
            for one, (_, redacted) in zip(appended, requests, strict=True)
        )

    async def _append_together(self, requests: Sequence[AppendRequest]) -> list[AppendedTurn]:
        try:
            return await self._appender.append_all(requests)
        except ConflictError:  # another writer chose one of the ids, or stored one of the turns
            return [await self._append_again(request) for request in requests]

    async def _append_again(self, request: AppendRequest) -> AppendedTurn:
        return await retry_on_conflict(lambda: self._appender.append(replace(request, may_be_repeated=True)))

    def _request(self, scope: Scope, new: NewTurn, operation_id: str | None, tier: Tier) -> tuple[AppendRequest, int]:
        """Return the request to append a turn, without credentials, and how many there were."""
        new, redacted = _redacted(new)
        operation = uuid4().hex if operation_id is None else operation_id
        write = TurnWrite(scope.personal, self._proposed(new), operation)
        return AppendRequest(write, tier, may_be_repeated=operation_id is not None), redacted

    async def transcribe(
        self,
        scope: Scope,
        turns: Sequence[TranscribedTurn],
        progress: Callable[[int, int], None] = lambda _done, _all: None,
        *,
        dry_run: bool = False,
    ) -> Transcribed:
        """Append the turns of old conversations, each with its own time. Repeating it adds only turns that are missing.

        A turn keeps its time unless its session holds a later one. With ``dry_run`` nothing is written.
        """
        sessions: dict[Scope, list[TranscribedTurn]] = {}
        for one in turns:
            sessions.setdefault(Scope(scope.user_id, one.session_id), []).append(one)
        limit, done = asyncio.Semaphore(SESSIONS_AT_ONCE), itertools.count(1)
        counts: list[int] = []

        async def append_all(session: Scope) -> list[AppendedTurn]:
            async with limit:
                stored = await self._stores.stored.recent(session, MOST_KNOWN)
                new = [one for one in sessions[session] if one.operation_id not in stored]
                counts.append(len(new))
                appended: list[AppendedTurn] = []
                if dry_run or not new:
                    return appended
                for one in new:
                    appended.append(await self.append(session, one.turn, operation_id=one.operation_id))
                    progress(next(done), len(turns))
                await self._stores.stored.finish_session(session)
                return appended

        added = list(itertools.chain(*await asyncio.gather(*map(append_all, sessions))))
        redacted = sum(one.redacted for one in added)
        return Transcribed(sum(counts), len(turns) - sum(counts), len(sessions), redacted)

    async def load(
        self,
        scope: Scope,
        *,
        turns: int | None = None,
        view: View = View.CONTEXT,
        tier: Tier = Tier.STANDARD,
        most_bytes: int | None = None,
    ) -> LoadedSession:
        """Return the last turns within the limits of a session; or exactly so many of the last turns.

        Within the limits, the least important turns are left out first. That takes one request to the cache, or one
        query to the table, however long the session is. Exactly so many turns always take one query to the table; with
        ``most_bytes``, the newest of them that fit are returned, at least one.
        """
        scope = scope.personal
        session_partition(scope)
        if turns is None:
            return await self._reader.load(scope, view=view, tier=tier)
        check_limit(turns, "turns")
        return await self._reader.last(scope, turns, view, most_bytes=most_bytes)

    async def before(
        self,
        scope: Scope,
        cursor: str,
        *,
        turns: int = 20,
        view: View = View.CONTEXT,
        most_bytes: int | None = None,
    ) -> LoadedSession:
        """Return the turns before a cursor, oldest first, and the cursor that leads further back.

        A cursor is a position in the session, which new turns do not change.
        """
        check_limit(turns, "turns")
        return await self._reader.before(scope.personal, cursor, turns, view, most_bytes=most_bytes)

    async def end(
        self,
        scope: Scope,
        *,
        summary: str | None = None,
        open_questions: Sequence[str] = (),
        operation_id: str | None = None,
    ) -> EndedSession:
        """End the session, and drop it from the cache, with its shared state. A turn appended later continues it.

        The next conversation gets the ``summary`` and the ``open_questions`` that are given here, or else a summary of
        the turns.
        """
        check_operation_id(operation_id)
        scope = scope.personal
        written = AgentSummary(summary, tuple(open_questions)) if summary is not None or open_questions else None
        loaded = await self._reader.load(scope)
        ended_at = max([self._stores.now(), *(turn.at for turn in loaded.turns)])
        await self._stores.stored.end(scope, ended_at, operation_id or uuid4().hex)
        await self._observer.ended(scope, loaded, ended_at, written)
        if self._stores.cache is not None and not self._stores.cache_epoch.is_disconnected:
            with suppress(CacheUnavailableError):  # the cached session expires by itself, and is right until then
                await self._stores.cache.drop(scope)
        with suppress(UnavailableError):  # the shared state expires by itself too
            await self._stores.states.drop(scope)
        return EndedSession(ended_at, loaded.turn_count, loaded.token_count)

    async def end_all(self) -> None:
        """End the sessions that got turns through this process: their client has left."""
        for scope in self._observer.active_sessions():
            with suppress(UnavailableError):  # its deadline ends it later
                await self.end(scope)

    def _proposed(self, new: NewTurn) -> Turn:
        now = self._stores.now()
        if new.said_at is not None and new.said_at > now + CLOCKS_DIFFER:
            raise InvalidRequestError(f"said_at must not be in the future, got {new.said_at.isoformat()!r}")
        tokens = self._count(new.content) if new.token_count is None else new.token_count
        weight = importance(new.role, new.content) if new.importance is None else new.importance
        return kept_as(new, ulid_after(None, min(new.said_at or now, now)), tokens=tokens, importance=weight)


def _redacted(new: NewTurn) -> tuple[NewTurn, int]:
    """Return the turn without credentials, and how many there were."""
    content, redacted = without_credentials(new.content)
    calls, page = new.tool_calls, new.page_context
    if calls:
        found, in_calls = data_without_credentials(calls)
        calls, redacted = tuple(found), redacted + in_calls
    if page:
        page, in_page = data_without_credentials(page)
        redacted += in_page
    return (replace(new, content=content, tool_calls=calls, page_context=page) if redacted else new), redacted
