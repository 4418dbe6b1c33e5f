"""Load the context page that a conversation starts with, or a further page."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mcp_memory_server.domain.context.handoff import HandOff, page_with_handoff
from mcp_memory_server.domain.context.page import (
    DEFAULT_PAGE_TOKENS,
    ContextPage,
    PageContent,
    most_entries,
    urgent_tokens,
    write_page,
)
from mcp_memory_server.domain.context.page_order import entries_in_order
from mcp_memory_server.domain.context.running_session import RunningSession
from mcp_memory_server.domain.context.turn_memories import DEFAULT_TURN_TOKENS, TurnMemories
from mcp_memory_server.domain.kernel.scope import Owner, Scope
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.recall.memories import Kind, UserSnapshot
from mcp_memory_server.domain.recall.ranked_memories import Overview, is_current, overview_of_day
from mcp_memory_server.domain.recall.replies.answers import check_budget
from mcp_memory_server.domain.recall.replies.cursors import Position, position_from
from mcp_memory_server.domain.sessions.turns import Role
from mcp_memory_server.errors import UnavailableError
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.services.context.read_owners import ReadOwner, ReadOwners, read_owners
from mcp_memory_server.services.context.turn_context import TurnContext
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache
from mcp_memory_server.services.recall.index_registry import IndexRegistry
from mcp_memory_server.services.summaries.handoffs import HandOffs

if TYPE_CHECKING:
    from mcp_memory_server.services.sessions.session_reader import LoadedSession

TURNS_CONSIDERED = 3
LONGEST_CONSIDERED = 600
"""The subject of a conversation is taken from its last turns, and from so many characters of each."""
MOST_RELEVANT = 50
SORTED_IN_A_THREAD = 2_000
"""More memories than this are ranked in a thread, because sorting them would block the event loop."""
SAVED_LATER = timedelta(hours=1)
"""Memories saved so long after the last conversation are shown as "saved last"."""


@dataclass(frozen=True)
class _Asked:
    """The parameters of one page: its budget, where it begins, the current time, and the conversation."""

    max_tokens: int
    start: Position
    now: datetime
    session_id: str | None = None


class Context:
    """Loads context pages and caches them per snapshot."""

    def __init__(
        self,
        snapshots: UserMemoryCache,
        user_index: IndexRegistry,
        embeddings: Embeddings,
        load_session: Callable[[Scope], Awaitable["LoadedSession"]],
        handoffs: HandOffs,
        count: TokenCounter,
        now: Callable[[], datetime],
    ) -> None:
        self._snapshots = snapshots
        self._indexes = user_index
        self._embeddings = embeddings
        self._load_session = load_session
        self._handoffs = handoffs
        self._count = count
        self._now = now
        self._turns = TurnContext(snapshots, user_index, embeddings, handoffs, count)
        self._pages: WeakKeyDictionary[UserSnapshot, dict[object, ContextPage]] = WeakKeyDictionary()

    async def load(
        self, scope: Scope, *, max_tokens: int = DEFAULT_PAGE_TOKENS, cursor: str | None = None
    ) -> ContextPage:
        """Return who the user is, dangers to health, preferences, upcoming days, the last changes, and the best facts.

        All of it is Markdown within the budget, which counts the whole reply; ``cursor`` continues after an earlier
        page. If the scope names a session, its turns are part of the page, and facts about its current subject come
        before the rest.
        """
        check_budget(max_tokens)
        start = position_from(cursor, "load_context")
        if scope.session_id is None:
            read = await read_owners(self._snapshots, scope)
            return await self._page(read, await self._handoff(scope, read), max_tokens, start)
        read, session = await asyncio.gather(read_owners(self._snapshots, scope), self._session(scope.personal))
        handoff = await self._handoff(scope, read)
        now = self._now()
        relevant = await self._relevant(read, session, now)
        await self._sorted(read, now)
        return self._written(_Asked(max_tokens, start, now, scope.session_id), read, handoff, relevant, session)

    async def for_turn(
        self,
        scope: Scope,
        words: str = "",
        *,
        max_tokens: int = DEFAULT_TURN_TOKENS,
        said: str = "",
        with_always: bool = True,
        with_matches: bool = True,
        with_handoff: bool = False,
    ) -> TurnMemories:
        """Return what a model should know about the user for one turn: for its prompt, not for a conversation.

        That is what always matters (preferences, dangers to health, names), and the memories that the ``words`` of the
        user are about, best first, all within the budget. Lines that the conversation contains, whose texts are
        ``said``, are left out. ``with_matches=False`` returns the first alone, which stays the same until a memory
        changes. ``with_handoff`` adds a section on earlier conversations, for the first turn of one.
        """
        check_budget(max_tokens)
        return await self._turns.load(
            scope,
            words,
            self._now(),
            max_tokens=max_tokens,
            said=said,
            with_always=with_always,
            with_matches=with_matches,
            with_handoff=with_handoff,
        )

    async def _handoff(self, scope: Scope, read: ReadOwners) -> HandOff:
        return HandOff() if read.user is None else await self._handoffs.of(scope, read.user.snapshot)

    async def _page(self, read: ReadOwners, handoff: HandOff, max_tokens: int, start: Position) -> ContextPage:
        now = self._now()
        await self._sorted(read, now)
        # The page changes with the snapshots, with facts that end and, because confidence fades, every hour.
        hour = now.replace(minute=0, second=0, microsecond=0)
        wanted = (max_tokens, start, _total(read, now), hour, read.versions_beside)
        pages = self._pages.setdefault(read.of_user, {})
        if wanted not in pages:
            pages[wanted] = self._written(_Asked(max_tokens, start, now), read, handoff)
        return pages[wanted]

    async def _sorted(self, read: ReadOwners, now: datetime) -> None:
        """Make sure that the overviews of all owners are of today."""
        for snapshot in (read.of_user, *(one.snapshot for one in read.others)):
            if len(snapshot.by_key) >= SORTED_IN_A_THREAD and not is_current(snapshot, now):
                await asyncio.to_thread(overview_of_day, snapshot, now)

    def _written(
        self,
        asked: _Asked,
        read: ReadOwners,
        handoff: HandOff,
        relevant: Mapping[Owner, Sequence[str]] | None = None,
        session: RunningSession | None = None,
    ) -> ContextPage:
        now, start, snapshot = asked.now, asked.start, read.of_user
        overview, beside = overview_of_day(snapshot, now), read.beside(now, relevant)
        last_conversation_at = handoff.last_conversation_at(asked.session_id, now)
        ordered = entries_in_order(
            snapshot,
            overview,
            now,
            relevant=() if read.user is None else (relevant or {}).get(read.user.scope.owner, ()),
            beside=beside,
            with_recent_changes=last_conversation_at is None or _saved_after(overview, last_conversation_at),
        )
        entries = list(islice(ordered, most_entries(start, asked.max_tokens)))
        topics: Counter[str] = Counter()
        for each in (overview, *(one.overview for one in beside)):
            topics.update(each.topics)
        content = PageContent(entries, _total(read, now), topics, read.missing, start)

        def write(section: str) -> ContextPage:
            return write_page(replace(content, handoff_section=section), now, self._count, asked.max_tokens, session)

        if start.last is not None:
            return write("")  # the hand-off is on the first page
        urgent = urgent_tokens(content, now, self._count, asked.max_tokens, session)
        return page_with_handoff(handoff, asked.session_id, now, self._count, asked.max_tokens, urgent, write)

    async def _session(self, scope: Scope) -> RunningSession:
        try:
            loaded = await self._load_session(scope)
        except UnavailableError:
            return RunningSession(missing=("the turns of this conversation could not be read",))
        return RunningSession(loaded.turns, loaded.turn_count, loaded.summary, loaded.missing)

    async def _relevant(self, read: ReadOwners, session: RunningSession, now: datetime) -> dict[Owner, list[str]]:
        """Return the sort keys of the memories of each owner about the subject of the conversation, closest first."""
        said = [turn.content[:LONGEST_CONSIDERED] for turn in session.turns if turn.role is Role.USER]
        if not said or not read.known:
            return {}
        topic = "\n".join(said[-TURNS_CONSIDERED:])
        vectors = await self._embeddings.of_question(topic)
        return {one.scope.owner: await self._relevant_of(one, (topic, vectors), now) for one in read.owners}

    async def _relevant_of(self, one: ReadOwner, topic: tuple[str, Vectors], now: datetime) -> list[str]:
        if not one.snapshot.by_key:
            return []
        user_index = await self._indexes.of_snapshot(one.scope, one.snapshot)
        matches, then = user_index.search(
            [topic],
            asked_at=now,
            limit=MOST_RELEVANT,
            times_returned={},
            only=lambda user: user.snapshot.by_key.keys(),
        )
        # The hand-off shows the summaries, in fewer words.
        found = (match.id for match in matches if match.id in then.by_key)
        return [sk for sk in found if then.by_key[sk].kind is not Kind.SUMMARY]


def _total(read: ReadOwners, now: datetime) -> int:
    return sum(overview_of_day(one.snapshot, now).count_at(now) for one in read.owners)


def _saved_after(overview: Overview, moment: datetime) -> bool:
    return bool(overview.changes) and overview.changes[-1].at > moment + SAVED_LATER
