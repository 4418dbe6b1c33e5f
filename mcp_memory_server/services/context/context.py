"""Context: the page that a conversation starts with, or goes on with."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mcp_memory_server.domain.context.handoff import HandOff, handed_over
from mcp_memory_server.domain.context.page import (
    DEFAULT_PAGE_TOKENS,
    ContextPage,
    PageContent,
    RunningSession,
    most_entries,
    urgent_tokens,
    write_page,
)
from mcp_memory_server.domain.context.page_order import in_order
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.recall.answers import check_budget
from mcp_memory_server.domain.recall.cursors import Place, place_from
from mcp_memory_server.domain.recall.memories import Kind, UserSnapshot
from mcp_memory_server.domain.recall.overview import Overview, is_ready, overview_at
from mcp_memory_server.domain.sessions.turns import Role
from mcp_memory_server.errors import UnavailableError
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache
from mcp_memory_server.services.recall.index_registry import IndexRegistry
from mcp_memory_server.services.summaries.handoffs import HandOffs

if TYPE_CHECKING:
    from mcp_memory_server.services.sessions.session_reader import LoadedSession

TURNS_CONSIDERED = 3
LONGEST_CONSIDERED = 600
"""What a conversation is about is told by its last turns, and by so many characters of each."""
MOST_RELEVANT = 50
SORTED_IN_A_THREAD = 2_000
"""More memories than this are not sorted on the event loop, where everybody else would wait for it."""
SAVED_LATER = timedelta(hours=1)
"""What was saved so long after the last conversation is told as what was last."""


@dataclass(frozen=True)
class _Asked:
    """How long a page may be, where it begins, when it is read, and in which conversation."""

    max_tokens: int
    start: Place
    now: datetime
    session_id: str | None = None


class Context:
    """Tells what is worth knowing before the next word of a conversation."""

    def __init__(
        self,
        known: UserMemoryCache,
        searchable: IndexRegistry,
        embeddings: Embeddings,
        load_session: Callable[[Scope], Awaitable["LoadedSession"]],
        handoffs: HandOffs,
        count: TokenCounter,
        now: Callable[[], datetime],
    ) -> None:
        self._known = known
        self._searchable = searchable
        self._embeddings = embeddings
        self._load_session = load_session
        self._handoffs = handoffs
        self._count = count
        self._now = now
        self._pages: WeakKeyDictionary[UserSnapshot, dict[object, ContextPage]] = WeakKeyDictionary()

    async def load(
        self, scope: Scope, *, max_tokens: int = DEFAULT_PAGE_TOKENS, cursor: str | None = None
    ) -> ContextPage:
        """Return who the user is, what can hurt them, preferences, what comes up, what was last, and the best facts.

        All of it is Markdown within the budget, the whole reply counted; ``cursor`` goes on where a page ended. For a
        scope that names a session, its turns are part of the page, and facts that have to do with what is being talked
        about come before the rest.
        """
        check_budget(max_tokens)
        start = place_from(cursor, "load_context")
        if scope.session_id is None:
            known = await self._known.of(scope)
            return await self._page(known, await self._handoffs.of(scope, known), max_tokens, start)
        known, session = await asyncio.gather(self._known.of(scope), self._session(scope))
        handoff = await self._handoffs.of(scope, known)
        now = self._now()
        relevant = await self._relevant(scope, known, session, now)
        overview = await self._overview(known, now)
        return self._written(
            _Asked(max_tokens, start, now, scope.session_id), known, overview, handoff, relevant, session
        )

    async def _page(self, known: UserSnapshot, handoff: HandOff, max_tokens: int, start: Place) -> ContextPage:
        now = self._now()
        overview = await self._overview(known, now)
        # The page changes with what is known, with what is over, and, because what is unsure fades, with the hour.
        wanted = (max_tokens, start, overview.count_at(now), now.replace(minute=0, second=0, microsecond=0))
        pages = self._pages.setdefault(known, {})
        if wanted not in pages:
            pages[wanted] = self._written(_Asked(max_tokens, start, now), known, overview, handoff)
        return pages[wanted]

    async def _overview(self, known: UserSnapshot, now: datetime) -> Overview:
        if len(known.by_key) < SORTED_IN_A_THREAD or is_ready(known, now):
            return overview_at(known, now)
        return await asyncio.to_thread(overview_at, known, now)

    def _written(
        self,
        asked: _Asked,
        known: UserSnapshot,
        overview: Overview,
        handoff: HandOff,
        relevant: Sequence[str] = (),
        session: RunningSession | None = None,
    ) -> ContextPage:
        now, start = asked.now, asked.start
        last_said = handoff.last_said(asked.session_id, now)
        ordered = in_order(
            known,
            overview,
            now,
            relevant=relevant,
            tells_changes=last_said is None or _saved_after(overview, last_said),
        )
        entries = list(islice(ordered, most_entries(start, asked.max_tokens)))
        total = overview.count_at(now)
        content = PageContent(entries, total, overview.topics, known.missing, start)

        def write(section: str) -> ContextPage:
            return write_page(replace(content, handed_over=section), now, self._count, asked.max_tokens, session)

        if start.last is not None:
            return write("")  # it was told on the first page
        urgent = urgent_tokens(content, now, self._count, asked.max_tokens, session)
        return handed_over(handoff, asked.session_id, now, self._count, asked.max_tokens, urgent, write)

    async def _session(self, scope: Scope) -> RunningSession:
        try:
            loaded = await self._load_session(scope)
        except UnavailableError:
            return RunningSession(missing=("the turns of this conversation could not be read",))
        return RunningSession(loaded.turns, loaded.turn_count, loaded.summary, loaded.missing)

    async def _relevant(self, scope: Scope, known: UserSnapshot, session: RunningSession, now: datetime) -> list[str]:
        """Return the sort keys of what has to do with what is being talked about, the closest first."""
        said = [turn.content[:LONGEST_CONSIDERED] for turn in session.turns if turn.role is Role.USER]
        if not said or not known.by_key:
            return []
        topic = "\n".join(said[-TURNS_CONSIDERED:])
        searchable = await self._searchable.of_known(scope, known)
        vectors = await self._embeddings.of_question(topic)
        matches, then = searchable.search(
            [(topic, vectors)],
            asked_at=now,
            limit=MOST_RELEVANT,
            times_returned={},
            only=lambda user: user.known.by_key.keys(),
        )
        # Summaries are told by the hand-off, in fewer words.
        found = (match.id for match in matches if match.id in then.by_key)
        return [sk for sk in found if then.by_key[sk].kind is not Kind.SUMMARY]


def _saved_after(overview: Overview, moment: datetime) -> bool:
    return bool(overview.changes) and overview.changes[-1].at > moment + SAVED_LATER
