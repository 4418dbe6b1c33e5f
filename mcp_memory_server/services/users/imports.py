"""Add statements that another program had stored."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from mcp_memory_server.domain.facts.fact import Fact, Statement
from mcp_memory_server.domain.facts.learning import learn
from mcp_memory_server.domain.kernel.items import Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import fact_body, topic_entry
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache
from mcp_memory_server.services.users.archive import Archive


@dataclass(frozen=True)
class ImportedFacts:
    """How many facts were added, repeated another one of the import, were stored before, or had been forgotten."""

    added: int
    merged: int
    known: int
    forgotten: int


class Imports:
    """Adds the statements of other programs."""

    def __init__(self, archive: Archive, snapshots: UserMemoryCache, now: Callable[[], datetime]) -> None:
        self._archive = archive
        self._snapshots = snapshots
        self._now = now

    async def learn_all(
        self,
        scope: Scope,
        statements: Iterable[Statement],
        progress: Callable[[int, int], None] = lambda _done, _all: None,
        *,
        dry_run: bool = False,
    ) -> ImportedFacts:
        """Store each statement as a fact that was learned when it was said, unless it is stored or was forgotten.

        It supersedes nothing, and the same sentence is one fact with more support. With ``dry_run`` nothing is written.
        """
        snapshot = await self._snapshots.of(scope)
        facts, merged = self._merged(statements)
        known = {memory.fact.fingerprint for memory in snapshot.by_key.values() if memory.fact is not None}
        new = [fact for fact in facts if fact.fingerprint not in known | snapshot.forgotten]
        forgotten = sum(fact.fingerprint in snapshot.forgotten - known for fact in facts)
        if dry_run:
            return ImportedFacts(len(new), merged, len(facts) - len(new) - forgotten, forgotten)
        done = await self._archive.add(scope, [_put(scope, fact) for fact in new], progress)
        before = len(facts) - len(new) - forgotten
        return ImportedFacts(done.added, merged, before + done.known, forgotten + done.forgotten)

    def _merged(self, statements: Iterable[Statement]) -> tuple[list[Fact], int]:
        """Return the facts, one for each sentence, and how many statements repeated another."""
        facts: dict[str, Fact] = {}
        now = self._now()
        in_order = sorted((min(one.said_at or now, now), number, one) for number, one in enumerate(statements))
        for at, _, statement in in_order:
            earlier = facts.get(statement.fingerprint)
            facts[statement.fingerprint] = learn(statement, at, related=[] if earlier is None else [earlier]).fact
        return list(facts.values()), len(in_order) - len(facts)


def _put(scope: Scope, fact: Fact) -> Put:
    return Put(keys.fact_key(scope, fact.fingerprint), fact_body(fact) | topic_entry(scope, fact), expected_version=0)
