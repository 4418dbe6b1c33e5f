"""Context: the page that a conversation starts with."""

from collections.abc import Callable
from datetime import datetime
from weakref import WeakKeyDictionary

from mcp_memory_server.domain.answers import check_budget
from mcp_memory_server.domain.context import ContextPage, write_page
from mcp_memory_server.domain.memories import Known, alive
from mcp_memory_server.domain.ranking import best_first
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.services.known_memories import KnownMemories

DEFAULT_MAX_TOKENS = 600


class Context:
    """Tells what is worth knowing before the first word of a conversation."""

    def __init__(self, known: KnownMemories, count: TokenCounter, now: Callable[[], datetime]) -> None:
        self._known = known
        self._count = count
        self._now = now
        self._pages: WeakKeyDictionary[Known, dict[object, ContextPage]] = WeakKeyDictionary()

    async def load(self, scope: Scope, *, max_tokens: int = DEFAULT_MAX_TOKENS) -> ContextPage:
        """Return preferences and the best facts as Markdown, the whole reply within the budget."""
        check_budget(max_tokens)
        now = self._now()
        known = await self._known.of(scope)
        missing = (f"{known.unreadable} stored memories could not be read",) if known.unreadable else ()
        living = alive(best_first(known, now), now)
        # The page changes with what is known, with what expired, and, because worth fades, with the hour.
        wanted = (max_tokens, len(living), now.replace(minute=0, second=0, microsecond=0))
        pages = self._pages.setdefault(known, {})
        if wanted not in pages:
            pages[wanted] = write_page(living, missing, now, self._count, max_tokens)
        return pages[wanted]
