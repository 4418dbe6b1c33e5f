"""Hand-offs: what the next conversation is told of the ones before, kept in memory as long as nothing changes."""

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

_TELLING = (SUMMARIES, FORGOTTEN, PAST_FACTS)
"""What makes a hand-off another one: new summaries, and what was forgotten, superseded or ended since."""


@dataclass(frozen=True)
class _Kept:
    """A hand-off, and of which snapshot of the user it is."""

    version: object
    serial: int
    handoff: HandOff

    def is_right_for(self, known: UserSnapshot) -> bool:
        """Tell whether nothing was changed since that a hand-off depends on."""
        if self.version == known.version:
            return True
        changed = known.changed_since(self.serial)
        return changed is not None and not any(sk.startswith(_TELLING) for sk in changed)


class HandOffs:
    """The hand-offs of the users seen last. Used from any thread and any event loop."""

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries
        self._kept = LruCache[str, _Kept](USERS_KEPT)

    async def of(self, scope: Scope, known: UserSnapshot) -> HandOff:
        """Return the hand-off as of the stamp under which the user's memories were read."""
        kept = self._kept.get(scope.user_id)
        if kept is None or not kept.is_right_for(known):
            kept = _Kept(known.version, known.serial, await self._made(scope, known))
            self._kept.put(scope.user_id, kept)
        return kept.handoff

    async def _made(self, scope: Scope, known: UserSnapshot) -> HandOff:
        if not any(memory.kind is Kind.SUMMARY for memory in known.rows):
            return HandOff()
        stored, forgotten = await asyncio.gather(self._summaries.stored(scope), self._summaries.forgotten(scope))
        changes = _changes(known)
        told = (without_changes(forgotten.taken_from(one), changes) for one in stored.summaries)
        return HandOff(sorted(told, key=lambda one: one.until, reverse=True))


def _changes(known: UserSnapshot) -> list[Change]:
    past = [memory.fact for memory in known.past if memory.fact is not None]
    return [Change(fact.text, _text_now(known, fact), fact.valid_to) for fact in past if fact.valid_to is not None]


def _text_now(known: UserSnapshot, past: Fact) -> str:
    """Return what holds in the place of a past fact, "" if nothing does."""
    by_statement = known.by_key.get(fact_place(past.superseded_by or ""))
    under_topic = (known.by_key[sk] for sk in known.by_topic.get((past.topic or "").casefold(), ()))
    current = next((memory for memory in under_topic if memory.kind is Kind.FACT), None)
    instead = by_statement or current
    return "" if instead is None else instead.text
