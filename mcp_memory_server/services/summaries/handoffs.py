"""Hand-offs: what the next conversation gets to know of those before, cached until something changes."""

import asyncio
from dataclasses import dataclass

from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.context.handoff import Change, HandOff, without_changes
from mcp_memory_server.domain.facts.fact import Fact
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.recall.memories import Kind, UserSnapshot
from mcp_memory_server.schema.keys import FORGOTTEN, PAST_FACTS, SUMMARIES, fact_place
from mcp_memory_server.services.summaries.summaries import Summaries

USERS_KEPT = 200

_DEPENDS_ON = (SUMMARIES, FORGOTTEN, PAST_FACTS)
"""A hand-off changes with new summaries, and with what was forgotten, superseded or ended since."""


@dataclass(frozen=True)
class _CachedHandOff:
    """A hand-off, and the version and serial of the snapshot it was made from."""

    version: object
    serial: int
    handoff: HandOff

    def is_valid_for(self, snapshot: UserSnapshot) -> bool:
        """Return whether nothing that a hand-off depends on differs in this snapshot."""
        if self.version == snapshot.version:
            return True
        changed = snapshot.changed_since(self.serial)
        return changed is not None and not any(sk.startswith(_DEPENDS_ON) for sk in changed)


class HandOffs:
    """The hand-offs of the users seen last. Used from any thread and any event loop."""

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries
        self._cached = LruCache[str, _CachedHandOff](USERS_KEPT)

    async def of(self, scope: Scope, snapshot: UserSnapshot) -> HandOff:
        """Return the hand-off as of this snapshot."""
        cached = self._cached.get(scope.user_id)
        if cached is None or not cached.is_valid_for(snapshot):
            cached = _CachedHandOff(snapshot.version, snapshot.serial, await self._made(scope, snapshot))
            self._cached.put(scope.user_id, cached)
        return cached.handoff

    async def _made(self, scope: Scope, snapshot: UserSnapshot) -> HandOff:
        if not any(memory.kind is Kind.SUMMARY for memory in snapshot.rows):
            return HandOff()
        stored, forgotten = await asyncio.gather(self._summaries.stored(scope), self._summaries.forgotten(scope))
        changes = _changes(snapshot)
        shown = (without_changes(forgotten.taken_from(one), changes) for one in stored.summaries)
        return HandOff(sorted(shown, key=lambda one: one.until, reverse=True))


def _changes(snapshot: UserSnapshot) -> list[Change]:
    past = [memory.fact for memory in snapshot.past if memory.fact is not None]
    return [Change(fact.text, _text_now(snapshot, fact), fact.valid_to) for fact in past if fact.valid_to is not None]


def _text_now(snapshot: UserSnapshot, past: Fact) -> str:
    """Return the text of the current fact in the place of a past one, "" if there is none."""
    by_statement = snapshot.by_key.get(fact_place(past.superseded_by or ""))
    under_topic = (snapshot.by_key[sk] for sk in snapshot.by_topic.get((past.topic or "").casefold(), ()))
    current = next((memory for memory in under_topic if memory.kind is Kind.FACT), None)
    instead = by_statement or current
    return "" if instead is None else instead.text
