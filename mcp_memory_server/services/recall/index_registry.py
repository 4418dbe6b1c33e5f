"""Keeping what can be searched up to date: built when a user is first asked about, then only what changed."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from mcp_memory_server.concurrency.event_loop_thread import EventLoopThread
from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.recall.memories import StoredMemory, UserSnapshot
from mcp_memory_server.errors import UnavailableError
from mcp_memory_server.ports.search_index import SearchIndex
from mcp_memory_server.services.conversations.past_turns import PastTurns, TurnPlace
from mcp_memory_server.services.kernel.user_memory_cache import ActivityLog
from mcp_memory_server.services.recall.reembedding import Lacking, Reembedding, SequencedTurn
from mcp_memory_server.services.recall.user_index import SessionCursor, UserIndex, key_of, turn_document
from mcp_memory_server.services.sessions.local_writes import LocalWrites

USERS_KEPT = 10_000
DOCUMENTS_KEPT = 250_000
"""So many documents, of all users together, are kept searchable; the users asked about least recently leave first."""
MOST_DOCUMENTS = 200_000
"""Of one user. What was said beyond that is not searched, and the answer says so."""
TIMEOUT_SECONDS = 3.0
"""An answer waits so long for the index, then it is given with what is there."""
INDEXED_AT_ONCE = 100
SESSIONS_AT_ONCE = 8
LISTED_AGAIN_SECONDS = 5.0
"""So long after the sessions were first listed, they are listed again with each question."""

TURNS_NOT_READ = "what was said in conversations of the last moments could not be read"
STILL_BEING_READ = "some of it is still being indexed: ask again in a moment"
TOO_MANY = f"only {MOST_DOCUMENTS:,} memories are searched; some conversations are left out"

logger = logging.getLogger(__name__)


class _User:
    def __init__(self, index: SearchIndex, writer: str) -> None:
        self.searchable = UserIndex(index, writer)
        self.bringing_up = asyncio.Lock()
        self.listed_again_until = float("-inf")
        self.change_token: object | None = None
        self.has_too_many = False


class IndexRegistry:
    """The indexes of the users asked about last. Used from any thread and any event loop; they are changed in one."""

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
        """A table that ``lists_late`` may for a moment not list a session that was just begun."""
        self._new_index = new_index
        self._turns = turns
        self._reembedding = reembedding
        self._background = background
        self._own = own
        self._now = now
        self._lists_late = lists_late
        self._users = LruCache[str, _User](
            USERS_KEPT,
            weight=lambda user: len(user.searchable.index),
            most_weight=DOCUMENTS_KEPT,
            on_evict=lambda user_id, _: own.disconnect(user_id),
        )

    async def of(self, scope: Scope, known: UserSnapshot, talks: ActivityLog) -> tuple[UserIndex, tuple[str, ...]]:
        """Return what can be searched: everything that was acknowledged before this call, or what of it is missing."""
        user = self._user(scope.user_id)
        searchable = user.searchable
        if not await self._is_behind(scope, user, known, talks):
            return searchable, self._missing(user)
        bringing = self._background.submit(lambda: self._bring_up(scope, user, known, talks))
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(bringing)), TIMEOUT_SECONDS)
        except TimeoutError:
            return searchable, (*self._missing(user), STILL_BEING_READ)
        except UnavailableError:
            return searchable, (*self._missing(user), TURNS_NOT_READ)
        return searchable, self._missing(user)

    async def of_known(self, scope: Scope, known: UserSnapshot) -> UserIndex:
        """Return what can be searched, of which only what is known needs to be complete: no conversation is read."""
        user = self._user(scope.user_id)
        if user.searchable.known.serial < known.serial:
            learning = self._background.submit(lambda: self._bring_up(scope, user, known, None))
            with suppress(TimeoutError):  # what is there already has to do
                await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(learning)), TIMEOUT_SECONDS)
        return user.searchable

    def holds_everything(self, scope: Scope) -> bool:
        """Tell whether every conversation of the user was read, and had its place here."""
        user = self._users.get(scope.user_id)
        return user is not None and user.searchable.is_read and not user.has_too_many

    def not_held(self, scope: Scope, places: Sequence[TurnPlace]) -> list[TurnPlace]:
        """Return those of the turns that are not indexed here."""
        user = self._users.get(scope.user_id)
        held = {} if user is None else user.searchable.turns
        return [place for place in places if turn_document(place) not in held]

    async def with_transient(
        self, scope: Scope, searchable: UserIndex, turns: Mapping[TurnPlace, StoredMemory | None]
    ) -> None:
        """Index turns that were found elsewhere, for a while, although there may be no room for them."""
        new = searchable.admit(turns)
        if new:
            await asyncio.wrap_future(self._background.submit(lambda: self._index(scope, searchable, new)))

    def _user(self, user_id: str) -> _User:
        def new() -> _User:
            self._own.watch(user_id)
            return _User(self._new_index(), self._own.writer)

        return self._users.get_or_add(user_id, new)

    async def _is_behind(self, scope: Scope, user: _User, known: UserSnapshot, talks: ActivityLog) -> bool:
        searchable = user.searchable
        if searchable.known.serial < known.serial or not searchable.has_read_activity or talks or searchable.unread:
            return True
        if self._own.are_there(scope.user_id) or time.monotonic() < user.listed_again_until:
            return True
        if not searchable.to_read(self._now()):
            return False
        change_token = await self._turns.change_token()
        return change_token is None or change_token != user.change_token

    def _missing(self, user: _User) -> tuple[str, ...]:
        unreadable = user.searchable.unreadable_turns
        told = [f"{unreadable} turns could not be read"] if unreadable else []
        return (*told, *([TOO_MANY] if user.has_too_many else []))

    async def _bring_up(self, scope: Scope, user: _User, known: UserSnapshot, talks: ActivityLog | None) -> None:
        async with user.bringing_up:
            await self._learn(scope, user.searchable, known)
            if talks is None:
                return
            # Taken before anything is read, so that a write in the meantime is read the next time.
            change_token = await self._turns.change_token()
            announced, are_lost = talks.take()
            is_settled = user.searchable.has_read_activity and time.monotonic() >= user.listed_again_until
            user.searchable.follow(announced, self._now(), is_settled=is_settled)
            user.searchable.expect(self._own.take(scope.user_id), is_settled=is_settled)
            if are_lost:
                user.searchable.doubt_activity()
            if not user.searchable.has_read_activity or time.monotonic() < user.listed_again_until:
                await self._list(scope, user, has_announced=bool(announced))
            try:
                await self._read(scope, user)
                user.change_token = change_token
            finally:
                self._users.weigh_again(scope.user_id, user)

    async def _learn(self, scope: Scope, searchable: UserIndex, known: UserSnapshot) -> None:
        if searchable.known.serial >= known.serial:
            return
        new, gone = searchable.changes_to(known)
        searchable.take_out(gone)
        await self._index(scope, searchable, [(sk, known.by_key[sk]) for sk in new])
        searchable.known = known

    async def _list(self, scope: Scope, user: _User, *, has_announced: bool) -> None:
        sessions = await self._turns.sessions(scope)
        searchable = user.searchable
        searchable.unread |= {session for session in sessions if session not in searchable.sessions}
        if self._lists_late and not searchable.has_read_activity and (has_announced or sessions):
            user.listed_again_until = time.monotonic() + LISTED_AGAIN_SECONDS
        searchable.has_read_activity = True

    async def _read(self, scope: Scope, user: _User) -> None:
        to_read = user.searchable.to_read(self._now())
        for start in range(0, len(to_read), SESSIONS_AT_ONCE):
            some = to_read[start : start + SESSIONS_AT_ONCE]
            await asyncio.gather(*(self._read_session(scope, user, session) for session in some))

    async def _read_session(self, scope: Scope, user: _User, session_id: str) -> None:
        searchable = user.searchable
        followed = searchable.sessions.get(session_id, SessionCursor())
        read = await self._turns.of_session(scope, session_id, followed.start(), followed.seen)
        new = [turn for turn in read.turns if searchable.is_new(turn)]
        room = MOST_DOCUMENTS - len(searchable.index)
        user.has_too_many = user.has_too_many or len(new) > room
        fitting = [(turn_document(turn.place), turn.memory) for turn in new[: max(room, 0)]]
        await self._index(scope, searchable, fitting, for_good=True)
        self._reembedding.enter([turn.place.key(scope) for turn in new if turn.lacks_an_entry])
        if not followed.last:  # later on only the end of it is read, again and again
            searchable.unreadable_turns += read.unreadable
        searchable.has_read(session_id, read, self._now())

    async def _index(
        self,
        scope: Scope,
        searchable: UserIndex,
        memories: Sequence[tuple[str, StoredMemory]],
        *,
        for_good: bool = False,
    ) -> None:
        for start in range(0, len(memories), INDEXED_AT_ONCE):
            some = memories[start : start + INDEXED_AT_ONCE]
            vectors = await self._reembedding.vectors([memory for _, memory in some])
            searchable.put_in(some, vectors, self._now(), for_good=for_good)
            self._reembedding.add(
                [
                    self._lacking(scope, searchable, document_id, replace(memory, vectors=made))
                    for (document_id, memory), made in zip(some, vectors, strict=True)
                    if self._reembedding.is_lacking(memory)
                ]
            )
            await asyncio.sleep(0)  # others are waiting for the same loop

    def _lacking(self, scope: Scope, searchable: UserIndex, document_id: str, memory: StoredMemory) -> Lacking:
        """Return what is to be stored beside a memory, and made first as far as it was not made for the index."""
        key, vectors = key_of(scope, document_id), memory.vectors
        placed = self._placing(searchable, document_id, memory) if self._reembedding.is_lacking(memory) else None
        return Lacking(key, placed, (memory.searched_text, vectors) if vectors.fine is not None else None)

    def _placing(self, searchable: UserIndex, document_id: str, memory: StoredMemory) -> SequencedTurn:
        def place(vectors: Vectors) -> None:
            if document_id in searchable.index:
                searchable.put_in([(document_id, memory)], [vectors], self._now())

        return place
