"""Keep the search indexes of recent users up to date: built on first use, then only changed where something changed."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from mcp_memory_server.concurrency.event_loop_thread import EventLoopThread
from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.kernel.scope import Owner, OwnerKind, Scope
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.recall.memories import StoredMemory, UserSnapshot
from mcp_memory_server.errors import UnavailableError
from mcp_memory_server.ports.search_index import SearchIndex
from mcp_memory_server.services.conversations.past_turns import PastTurns, TurnPlace
from mcp_memory_server.services.kernel.user_memory_cache import ActivityLog
from mcp_memory_server.services.recall.reembedding import MissingVectors, OnVectors, Reembedding
from mcp_memory_server.services.recall.user_index import UserIndex, key_of, turn_document
from mcp_memory_server.services.sessions.session_activity import LocalWrites

USERS_KEPT = 10_000
DOCUMENTS_KEPT = 250_000
"""The most documents of all users together; indexes of the users asked about least recently are evicted first."""
MOST_DOCUMENTS = 200_000
"""The most documents of one user. Further conversations are not searched, and the reply says so."""
TIMEOUT_SECONDS = 3.0
"""A reply waits this long for the update of the index, and then uses what is there."""
INDEXED_AT_ONCE = 100
SESSIONS_AT_ONCE = 8
LISTED_AGAIN_SECONDS = 5.0
"""For so long after the first listing, sessions are listed again with each question, because the index of the table
lags.
"""

TURNS_NOT_READ = "what was said in conversations of the last moments could not be read"
STILL_BEING_READ = "some of it is still being indexed: ask again in a moment"
TOO_MANY = f"only {MOST_DOCUMENTS:,} memories are searched; some conversations are left out"

logger = logging.getLogger(__name__)


class _User:
    def __init__(self, index: SearchIndex, writer: str) -> None:
        self.user_index = UserIndex(index, writer)
        self.update_lock = asyncio.Lock()
        self.listed_again_until = float("-inf")
        self.change_token: object | None = None
        self.has_too_many = False


class IndexRegistry:
    """The search indexes of recent users. Used from any thread and event loop; updated on the background loop only."""

    def __init__(
        self,
        new_index: Callable[[], SearchIndex],
        turns: PastTurns,
        reembedding: Reembedding,
        background: EventLoopThread,
        own: LocalWrites,
        now: Callable[[], datetime],
        *,
        lists_late: bool = True,
    ) -> None:
        """``lists_late`` says that the table may not list a new session for a moment."""
        self._new_index = new_index
        self._turns = turns
        self._reembedding = reembedding
        self._background = background
        self._own = own
        self._now = now
        self._lists_late = lists_late
        self._users = LruCache[Owner, _User](
            USERS_KEPT,
            weight=lambda user: len(user.user_index.index),
            most_weight=DOCUMENTS_KEPT,
            on_evict=lambda owner, _: own.unwatch(owner.name) if owner.kind is OwnerKind.USER else None,
        )

    async def of(
        self, scope: Scope, snapshot: UserSnapshot, activities: ActivityLog
    ) -> tuple[UserIndex, tuple[str, ...]]:
        """Return the index with everything that was acknowledged before this call, and what is missing from it.

        Conversations belong to users: of other owners only the memories are indexed.
        """
        if scope.owner.kind is not OwnerKind.USER:
            return await self.of_snapshot(scope, snapshot), ()
        user = self._user(scope.owner)
        user_index = user.user_index
        if not await self._is_outdated(scope, user, snapshot, activities):
            return user_index, self._missing(user)
        updating = self._background.submit(lambda: self._update(scope, user, snapshot, activities))
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(updating)), TIMEOUT_SECONDS)
        except TimeoutError:
            return user_index, (*self._missing(user), STILL_BEING_READ)
        except UnavailableError:
            return user_index, (*self._missing(user), TURNS_NOT_READ)
        return user_index, self._missing(user)

    async def of_snapshot(self, scope: Scope, snapshot: UserSnapshot) -> UserIndex:
        """Return the index with at least the memories of this snapshot. No conversation is read."""
        user = self._user(scope.owner)
        if user.user_index.snapshot.serial < snapshot.serial:
            updating = self._background.submit(lambda: self._update(scope, user, snapshot, None))
            with suppress(TimeoutError):  # the caller uses what is indexed already
                await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(updating)), TIMEOUT_SECONDS)
        return user.user_index

    def is_complete(self, scope: Scope) -> bool:
        """Check whether every conversation of the user was read and fits into the index."""
        user = self._users.get(scope.owner)
        return user is not None and user.user_index.sessions.are_read and not user.has_too_many

    def not_indexed(self, scope: Scope, places: Sequence[TurnPlace]) -> list[TurnPlace]:
        """Return those of the turns that are not indexed."""
        user = self._users.get(scope.owner)
        held = {} if user is None else user.user_index.turns
        return [place for place in places if turn_document(place) not in held]

    async def add_transient(
        self, scope: Scope, user_index: UserIndex, turns: Mapping[TurnPlace, StoredMemory | None]
    ) -> None:
        """Index turns that a vector service found, for a while, although the index may be full."""
        new = user_index.admit_transient(turns)
        if new:
            await asyncio.wrap_future(self._background.submit(lambda: self._index(scope, user_index, new)))

    def _user(self, owner: Owner) -> _User:
        def new() -> _User:
            if owner.kind is OwnerKind.USER:
                self._own.watch(owner.name)
            return _User(self._new_index(), self._own.writer)

        return self._users.get_or_add(owner, new)

    async def _is_outdated(self, scope: Scope, user: _User, snapshot: UserSnapshot, activities: ActivityLog) -> bool:
        user_index = user.user_index
        if (
            user_index.snapshot.serial < snapshot.serial
            or not user_index.sessions.are_listed
            or activities
            or user_index.sessions.has_unread
        ):
            return True
        if self._own.has_any(scope.user_id) or time.monotonic() < user.listed_again_until:
            return True
        if not user_index.sessions.to_read(self._now()):
            return False
        change_token = await self._turns.change_token()
        return change_token is None or change_token != user.change_token

    def _missing(self, user: _User) -> tuple[str, ...]:
        unreadable = user.user_index.unreadable_turns
        sentences = [f"{unreadable} turns could not be read"] if unreadable else []
        return (*sentences, *([TOO_MANY] if user.has_too_many else []))

    async def _update(self, scope: Scope, user: _User, snapshot: UserSnapshot, activities: ActivityLog | None) -> None:
        async with user.update_lock:
            await self._index_changes(scope, user.user_index, snapshot)
            if activities is None:
                self._users.weigh_again(scope.owner, user)
                return
            # Taken before anything is read, so that a write in the meantime is read the next time.
            change_token = await self._turns.change_token()
            announced, are_lost = activities.take()
            is_settled = user.user_index.sessions.are_listed and time.monotonic() >= user.listed_again_until
            user.user_index.sessions.record_activity(announced, self._now(), is_settled=is_settled)
            user.user_index.sessions.record_own_writes(self._own.take(scope.user_id), is_settled=is_settled)
            if are_lost:
                user.user_index.sessions.distrust_activity()
            if not user.user_index.sessions.are_listed or time.monotonic() < user.listed_again_until:
                await self._list_sessions(scope, user, has_announced=bool(announced))
            try:
                await self._read_sessions(scope, user)
                user.change_token = change_token
            finally:
                self._users.weigh_again(scope.owner, user)

    async def _index_changes(self, scope: Scope, user_index: UserIndex, snapshot: UserSnapshot) -> None:
        if user_index.snapshot.serial >= snapshot.serial:
            return
        new, removed = user_index.changes_to(snapshot)
        user_index.remove(removed)
        await self._index(scope, user_index, [(sk, snapshot.by_key[sk]) for sk in new])
        user_index.snapshot = snapshot

    async def _list_sessions(self, scope: Scope, user: _User, *, has_announced: bool) -> None:
        sessions = await self._turns.sessions(scope)
        user_index = user.user_index
        user_index.sessions.add_listed(sessions)
        if self._lists_late and not user_index.sessions.are_listed and (has_announced or sessions):
            user.listed_again_until = time.monotonic() + LISTED_AGAIN_SECONDS
        user_index.sessions.are_listed = True

    async def _read_sessions(self, scope: Scope, user: _User) -> None:
        to_read = user.user_index.sessions.to_read(self._now())
        for start in range(0, len(to_read), SESSIONS_AT_ONCE):
            some = to_read[start : start + SESSIONS_AT_ONCE]
            await asyncio.gather(*(self._read_session(scope, user, session) for session in some))

    async def _read_session(self, scope: Scope, user: _User, session_id: str) -> None:
        user_index = user.user_index
        cursor = user_index.sessions.cursor(session_id)
        read = await self._turns.of_session(scope, session_id, cursor.start(), cursor.seen)
        new = [turn for turn in read.turns if user_index.is_new(turn)]
        room = MOST_DOCUMENTS - len(user_index.index)
        user.has_too_many = user.has_too_many or len(new) > room
        fitting = [(turn_document(turn.place), turn.memory) for turn in new[: max(room, 0)]]
        await self._index(scope, user_index, fitting, permanent=True)
        self._reembedding.add_to_vector_index([turn.place.key(scope) for turn in new if turn.lacks_an_entry])
        if not cursor.last:  # later reads repeat its end and must not count twice
            user_index.unreadable_turns += read.unreadable
        user_index.sessions.record_read(session_id, read, self._now())

    async def _index(
        self,
        scope: Scope,
        user_index: UserIndex,
        memories: Sequence[tuple[str, StoredMemory]],
        *,
        permanent: bool = False,
    ) -> None:
        for start in range(0, len(memories), INDEXED_AT_ONCE):
            some = memories[start : start + INDEXED_AT_ONCE]
            vectors = await self._reembedding.vectors([memory for _, memory in some])
            user_index.add(some, vectors, self._now(), permanent=permanent)
            self._reembedding.add(
                [
                    self._missing_vectors(scope, user_index, document_id, replace(memory, vectors=made))
                    for (document_id, memory), made in zip(some, vectors, strict=True)
                    if self._reembedding.lacks_vectors(memory)
                ]
            )
            await asyncio.sleep(0)  # let other tasks of the loop run

    def _missing_vectors(
        self, scope: Scope, user_index: UserIndex, document_id: str, memory: StoredMemory
    ) -> MissingVectors:
        """Return the vectors to store beside a memory, and to compute first if they were not computed for the index."""
        key, vectors = key_of(scope, document_id), memory.vectors
        on_vectors = (
            self._on_vectors(user_index, document_id, memory) if self._reembedding.lacks_vectors(memory) else None
        )
        return MissingVectors(key, on_vectors, (memory.searched_text, vectors) if vectors.fine is not None else None)

    def _on_vectors(self, user_index: UserIndex, document_id: str, memory: StoredMemory) -> OnVectors:
        def place(vectors: Vectors) -> None:
            if document_id in user_index.index:
                user_index.add([(document_id, memory)], [vectors], self._now())

        return place
