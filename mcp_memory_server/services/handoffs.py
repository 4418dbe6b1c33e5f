"""Hand-offs: what the next conversation is told of the ones before, kept in memory as long as nothing changes."""

import asyncio
from collections import OrderedDict
from threading import Lock

from mcp_memory_server.domain.handoff import Change, HandOff, without_changes
from mcp_memory_server.domain.memories import Kind, Known
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.services.summaries import Summaries

USERS_KEPT = 200


class HandOffs:
    """The hand-offs of the users seen last. Used from any thread and any event loop."""

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries
        self._kept: OrderedDict[str, tuple[object, HandOff]] = OrderedDict()
        self._lock = Lock()

    async def of(self, scope: Scope, known: Known) -> HandOff:
        """Return the hand-off as of the stamp under which the user's memories were read."""
        with self._lock:
            kept = self._kept.get(scope.user_id)
        if kept is not None and kept[0] == known.stamp:
            return kept[1]
        handoff = await self._made(scope, known)
        self._keep(scope.user_id, known.stamp, handoff)
        return handoff

    async def _made(self, scope: Scope, known: Known) -> HandOff:
        if not any(memory.kind is Kind.SUMMARY for memory in known.rows):
            return HandOff()
        stored, forgotten = await asyncio.gather(self._summaries.stored(scope), self._summaries.forgotten(scope))
        changes = _changes(known)
        told = (without_changes(forgotten.taken_from(one), changes) for one in stored.summaries)
        return HandOff(sorted(told, key=lambda one: one.until, reverse=True))

    def _keep(self, user_id: str, stamp: object, handoff: HandOff) -> None:
        with self._lock:
            self._kept[user_id] = (stamp, handoff)
            self._kept.move_to_end(user_id)
            while len(self._kept) > USERS_KEPT:
                self._kept.popitem(last=False)


def _changes(known: Known) -> list[Change]:
    facts = [memory.fact for memory in known.memories if memory.fact is not None]
    by_statement = {fact.fingerprint: fact.text for fact in facts}
    by_topic = {fact.topic: fact.text for fact in facts if fact.topic is not None}
    past = [memory.fact for memory in known.past if memory.fact is not None]
    return [
        Change(
            fact.text, by_statement.get(fact.superseded_by or "") or by_topic.get(fact.topic or "", ""), fact.valid_to
        )
        for fact in past
        if fact.valid_to is not None
    ]
