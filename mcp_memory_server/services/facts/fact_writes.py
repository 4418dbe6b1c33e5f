"""Turn what a statement does into writes: which stored facts it affects, and which items change."""

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime

from mcp_memory_server.domain.facts.fact import INSTANT, Fact, Source, Standing, Statement, Tombstone
from mcp_memory_server.domain.facts.learning import Change, Learning, learn
from mcp_memory_server.domain.kernel.items import MAX_WRITES_AT_ONCE, Delete, Item, Put, Write
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.recall.memories import UserSnapshot, is_unexpired
from mcp_memory_server.errors import ConflictError
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import OUTCOME, fact_from, listed_fact_body

MOST_WITH_NEW_FACT = (MAX_WRITES_AT_ONCE - 3) // 2
"""So many facts can change together with a new one, with two writes each. The user version, the new fact and the
tombstone are written too.
"""
MOST_WITHOUT_NEW_FACT = (MAX_WRITES_AT_ONCE - 1) // 2
"""So many facts can change together if no new one is written."""

MOST_COMPARED = 100
"""Of a topic with many facts, only the newest are compared with a new one: each comparison takes 0.1 to 0.4 ms."""


@dataclass(frozen=True)
class AffectedFacts:
    """The stored facts that a statement may affect, under their sort keys."""

    current: Mapping[str, Fact]
    named: Mapping[str, Fact]
    candidate: Mapping[str, Fact]
    past: Fact | None = None

    def decide(self, statement: Statement, now: datetime, tombstone: Tombstone | None) -> Learning:
        """Return what the statement does."""
        return learn(
            statement,
            now,
            related=list(self.current.values()),
            named=list(self.named.values()),
            candidate=next(iter(self.candidate.values()), None),
            past=self.past,
            tombstone=tombstone,
        )

    def touched(self, learning: Learning) -> set[str]:
        """Return the sort keys of the items that have to be read before the writes."""
        facts = {change.before for change in learning.changes} | {learning.overwritten, learning.stands, learning.fact}
        stored = {**self.current, **self.named, **self.candidate}
        return {sk for sk, fact in stored.items() if fact in facts}

    def as_read(self, items: Mapping[str, Item], touched: AbstractSet[str]) -> "AffectedFacts":
        """Return only the touched facts, as they are in the table now.

        Raises:
            ConflictError: One of them was removed.
        """
        if not touched <= items.keys():
            raise ConflictError("something was removed in the meantime")

        def read(facts: Iterable[str]) -> dict[str, Fact]:
            return {sk: fact_from(items[sk]) for sk in facts if sk in items}

        return AffectedFacts(read(self.current), read(self.named), read(self.candidate), self.past)

    def items(self, found: Mapping[str, Item]) -> dict[Fact, Item]:
        """Return the item of each fact."""
        stored = {**self.current, **self.named, **self.candidate}
        return {fact: found[sk] for sk, fact in stored.items() if sk in found}


def affected_facts(
    snapshot: UserSnapshot, statement: Statement, named: Collection[str], now: datetime
) -> AffectedFacts:
    """Return the facts with the same text, those under the same topic, and those that the statement names."""
    own = statement.fingerprint
    same = {keys.fact_place(own), keys.possible_fact_place(own)}
    same |= {sk for sk in snapshot.legacy if (fact := snapshot.by_key[sk].fact) is not None and fact.fingerprint == own}
    under_topic = snapshot.by_topic.get((statement.topic or "").casefold(), frozenset[str]())
    newest = heapq.nlargest(MOST_COMPARED, under_topic, key=lambda sk: (snapshot.by_key[sk].said_at, sk))

    def facts(sort_keys: Iterable[str], standing: Standing) -> dict[str, Fact]:
        rows = ((sk, snapshot.by_key[sk]) for sk in sorted(sort_keys) if sk in snapshot.by_key)
        return {
            sk: row.fact for sk, row in rows if row.fact and row.fact.standing is standing and is_unexpired(row, now)
        }

    return AffectedFacts(
        facts(same.union(newest), Standing.CURRENT),
        {**facts(named, Standing.CURRENT), **facts(named, Standing.CANDIDATE)},
        facts(same, Standing.CANDIDATE),
        _last_version(snapshot, statement, same),
    )


def _last_version(snapshot: UserSnapshot, statement: Statement, same: Collection[str]) -> Fact | None:
    """Return the past version of the same statement, if the statement may not revive it by itself."""
    if statement.source is not Source.INFERRED and statement.said_at is None:
        return None
    prefix = keys.past_facts_prefix(keys.fact_place(statement.fingerprint))
    sort_keys = [
        *(sk for sk in snapshot.by_key if sk.startswith(prefix)),
        *(sk for sk in same if sk in snapshot.by_key),
    ]
    past = [fact for sk in sort_keys if (fact := snapshot.by_key[sk].fact) is not None and fact.valid_to is not None]
    return max(past, key=lambda fact: fact.valid_to or fact.valid_from, default=None)


def put_of(scope: Scope, learning: Learning, items: Mapping[Fact, Item]) -> Put:
    """Return the write of the fact, over the same statement, so that attributes of later releases survive."""
    fact, overwritten = learning.fact, learning.overwritten
    item = None if overwritten is None else items[overwritten]
    possible = fact.standing is Standing.CANDIDATE
    key = keys.possible_fact_key(scope, fact.fingerprint) if possible else keys.fact_key(scope, fact.fingerprint)
    version = 0
    if item is not None and overwritten is not None and overwritten.standing is fact.standing:
        key, version = item.key, item.version
    body = {**listed_fact_body(scope, fact, None if item is None else item.body), OUTCOME: learning.outcome.value}
    return Put(key, body, expected_version=version, expires_at=fact.expires_at)


def writes_beside(
    scope: Scope, put: Put, changes: Sequence[Change], items: Mapping[Fact, Item], snapshot: UserSnapshot
) -> list[Write]:
    """Return the writes of the other facts, each item once, and without the item that the fact itself is written to."""
    by_key = {items[change.before].key: writes_of(scope, change, items[change.before], snapshot) for change in changes}
    return [write for writes in by_key.values() for write in writes if write.key != put.key]


def writes_of(scope: Scope, change: Change, item: Item, snapshot: UserSnapshot) -> list[Write]:
    """Return the writes of one change: a past version is stored under a key with the moment of its end."""
    after = change.after
    if after is None:
        return [Delete(item.key, item.version)]
    if after.standing is not Standing.PAST:
        return [Put(item.key, listed_fact_body(scope, after, item.body), item.version, after.expires_at)]
    is_guess = change.before.standing is Standing.CANDIDATE
    place = replace(item.key, sk=keys.fact_place(after.fingerprint)) if is_guess else item.key
    end = after.valid_to or after.valid_from
    while (key := keys.past_fact_key(place, end)).sk in snapshot.by_key:
        end += INSTANT  # the key is taken, because the clock stepped back
    past = replace(after, valid_to=end)
    return [Put(key, listed_fact_body(scope, past, item.body), 0, after.expires_at), Delete(item.key, item.version)]
