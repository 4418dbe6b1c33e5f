"""Context: the page that a conversation starts with, or goes on with."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mcp_memory_server.domain.answers import check_budget
from mcp_memory_server.domain.context import ContextPage, RunningSession, write_page
from mcp_memory_server.domain.handoff import HandOff, handed_over
from mcp_memory_server.domain.memories import Kind, Known, KnownMemory, alive
from mcp_memory_server.domain.ranking import best_first
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.errors import UnavailableError
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.services.handoffs import HandOffs
from mcp_memory_server.services.known_memories import KnownMemories

if TYPE_CHECKING:
    from mcp_memory_server.services.sessions_at_hand import LoadedSession

DEFAULT_MAX_TOKENS = 600


class Context:
    """Tells what is worth knowing before the next word of a conversation."""

    def __init__(
        self,
        known: KnownMemories,
        load_session: Callable[[Scope], Awaitable["LoadedSession"]],
        handoffs: HandOffs,
        count: TokenCounter,
        now: Callable[[], datetime],
    ) -> None:
        self._known = known
        self._load_session = load_session
        self._handoffs = handoffs
        self._count = count
        self._now = now
        self._pages: WeakKeyDictionary[Known, dict[object, ContextPage]] = WeakKeyDictionary()

    async def load(self, scope: Scope, *, max_tokens: int = DEFAULT_MAX_TOKENS) -> ContextPage:
        """Return the hand-off of earlier conversations, preferences and the best facts, as Markdown within the budget.

        The whole reply is counted. For a scope that names a session, its turns are part of the page and of the budget.
        """
        check_budget(max_tokens)
        if scope.session_id is None:
            known = await self._known.of(scope)
            return self._page(known, await self._handoffs.of(scope, known), max_tokens)
        known, session = await asyncio.gather(self._known.of(scope), self._session(scope))
        handoff = await self._handoffs.of(scope, known)
        now = self._now()

        def write(room: int) -> ContextPage:
            return write_page(_living(known, now), _missing(known), now, self._count, room, session)

        return handed_over(handoff, scope.session_id, now, self._count, max_tokens, write)

    def _page(self, known: Known, handoff: HandOff, max_tokens: int) -> ContextPage:
        now = self._now()
        living = _living(known, now)
        # The page changes with what is known, with what expired, and, because worth fades, with the hour.
        wanted = (max_tokens, len(living), now.replace(minute=0, second=0, microsecond=0))
        pages = self._pages.setdefault(known, {})
        if wanted not in pages:

            def write(room: int) -> ContextPage:
                return write_page(living, _missing(known), now, self._count, room)

            pages[wanted] = handed_over(handoff, None, now, self._count, max_tokens, write)
        return pages[wanted]

    async def _session(self, scope: Scope) -> RunningSession:
        try:
            loaded = await self._load_session(scope)
        except UnavailableError:
            return RunningSession(missing=("the turns of this conversation could not be read",))
        return RunningSession(loaded.turns, loaded.turn_count, loaded.summary, loaded.missing)


def _living(known: Known, now: datetime) -> list[KnownMemory]:
    # Summaries are told by the hand-off, in fewer words.
    return [one for one in alive(best_first(known, now), now) if one.kind is not Kind.SUMMARY]


def _missing(known: Known) -> tuple[str, ...]:
    return (f"{known.unreadable} stored memories could not be read",) if known.unreadable else ()
