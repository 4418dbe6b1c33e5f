"""Context: the page that a conversation starts with, or goes on with."""

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mcp_memory_server.domain.answers import check_budget
from mcp_memory_server.domain.context import ContextPage, RunningSession, write_page
from mcp_memory_server.domain.handoff import HandOff, handed_over
from mcp_memory_server.domain.memories import Kind, Known, KnownMemory, alive
from mcp_memory_server.domain.ranking import best_first, relevant_first
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.turns import Role
from mcp_memory_server.errors import UnavailableError
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.services.embeddings import Embeddings
from mcp_memory_server.services.handoffs import HandOffs
from mcp_memory_server.services.known_memories import KnownMemories
from mcp_memory_server.services.searchable_memories import SearchableMemories

if TYPE_CHECKING:
    from mcp_memory_server.services.sessions_at_hand import LoadedSession

DEFAULT_MAX_TOKENS = 600
TURNS_CONSIDERED = 3
LONGEST_CONSIDERED = 600
"""What a conversation is about is told by its last turns, and by so many characters of each."""
MOST_RELEVANT = 50


class Context:
    """Tells what is worth knowing before the next word of a conversation."""

    def __init__(
        self,
        known: KnownMemories,
        searchable: SearchableMemories,
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
        self._pages: WeakKeyDictionary[Known, dict[object, ContextPage]] = WeakKeyDictionary()

    async def load(self, scope: Scope, *, max_tokens: int = DEFAULT_MAX_TOKENS) -> ContextPage:
        """Return the hand-off of earlier conversations, preferences and the best facts, as Markdown within the budget.

        The whole reply is counted. For a scope that names a session, its turns are part of the page and of the budget,
        and facts that have to do with what is being talked about come before the others.
        """
        check_budget(max_tokens)
        if scope.session_id is None:
            known = await self._known.of(scope)
            return self._page(known, await self._handoffs.of(scope, known), max_tokens)
        known, session = await asyncio.gather(self._known.of(scope), self._session(scope))
        handoff = await self._handoffs.of(scope, known)
        now = self._now()
        relevant = await self._relevant(scope, known, session, now)
        ranked = relevant_first(_living(known, now), relevant)

        def write(room: int) -> ContextPage:
            return write_page(ranked, known.missing, now, self._count, room, session)

        return handed_over(handoff, scope.session_id, now, self._count, max_tokens, write)

    def _page(self, known: Known, handoff: HandOff, max_tokens: int) -> ContextPage:
        now = self._now()
        # The page changes with what is known, with what expired, and, because worth fades, with the hour.
        expired = bisect_right(known.expiries, now)
        wanted = (max_tokens, expired, now.replace(minute=0, second=0, microsecond=0))
        pages = self._pages.setdefault(known, {})
        if wanted not in pages:
            living = _living(known, now)

            def write(room: int) -> ContextPage:
                return write_page(living, known.missing, now, self._count, room)

            pages[wanted] = handed_over(handoff, None, now, self._count, max_tokens, write)
        return pages[wanted]

    async def _session(self, scope: Scope) -> RunningSession:
        try:
            loaded = await self._load_session(scope)
        except UnavailableError:
            return RunningSession(missing=("the turns of this conversation could not be read",))
        return RunningSession(loaded.turns, loaded.turn_count, loaded.summary, loaded.missing)

    async def _relevant(self, scope: Scope, known: Known, session: RunningSession, now: datetime) -> list[str]:
        """Return the ids of the memories that have to do with what is being talked about, the closest first."""
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
            times_told={},
            only=lambda user: user.known.by_key.keys(),
        )
        return [then.by_key[match.id].id for match in matches if match.id in then.by_key]


def _living(known: Known, now: datetime) -> list[KnownMemory]:
    # Summaries are told by the hand-off, in fewer words.
    return [one for one in alive(best_first(known, now), now) if one.kind is not Kind.SUMMARY]
