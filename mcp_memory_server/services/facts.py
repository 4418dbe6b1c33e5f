"""Facts: learn, list, look back."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from mcp_memory_server.domain.facts import (
    Fact,
    Learning,
    Outcome,
    Standing,
    Statement,
    fact_id,
    held_at,
    learn,
)
from mcp_memory_server.domain.items import Delete, Item, Key, Put, Write
from mcp_memory_server.domain.memories import alive
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.topics import checked_prefix, is_under
from mcp_memory_server.errors import NotFoundError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import OUTCOME, fact_body, fact_from, outcome_from, tombstone_from
from mcp_memory_server.services.known_memories import KnownMemories, raise_stamp
from mcp_memory_server.services.writing import until_it_holds


@dataclass(frozen=True)
class Learned:
    """What learning did. ``earlier`` was replaced; ``stands`` was kept, because the new statement is weaker."""

    outcome: Outcome
    fact: Fact
    earlier: Fact | None = None
    stands: Fact | None = None


@dataclass(frozen=True)
class _Around:
    """The items that a statement touches, as they were read."""

    current: Item | None
    candidate: Item | None
    tombstone: Item | None
    replaced: Item | None

    @property
    def compared(self) -> Item | None:
        """What the statement is held against: what it is about, or else what it says it replaces."""
        return self.current or self.replaced


class Facts:
    """What is known about a user, topic by topic."""

    def __init__(self, table: ItemTable, known: KnownMemories, now: Callable[[], datetime]) -> None:
        self._table = table
        self._known = known
        self._now = now

    async def learn(
        self, scope: Scope, statement: Statement, *, replaces: str | None = None, operation_id: str | None = None
    ) -> Learned:
        """Keep the statement and tell what it did. Once this returns, it is never lost.

        ``replaces`` is the id of a fact that no longer holds. The same operation id twice is learned once.

        Raises:
            ForgottenError: The user asked to forget it, and has not confirmed it since.
            NotFoundError: There is no fact with the id that it replaces.
        """
        replaced: Key | None = None
        if replaces is not None:
            old = await self.get(scope, replaces)
            replaced = keys.fact_key(scope, old.topic, old.id)
            if old.standing is Standing.CANDIDATE:
                replaced = keys.possible_fact_key(scope, old.topic, old.id, old.fingerprint)
            statement = replace(statement, topic=statement.topic or old.topic)
        operation = operation_id or uuid4().hex
        return await until_it_holds(lambda: self._learn(scope, statement, replaced, operation))

    async def get(self, scope: Scope, fact_id: str) -> Fact:
        """Return the fact with this id, current or only possible.

        Raises:
            NotFoundError: There is none.
        """
        for fact in await self.all(scope):
            if fact.id == fact_id:
                return fact
        raise NotFoundError(f"no fact has the id {fact_id!r}; `recall` shows the ids of what is known")

    async def all(self, scope: Scope, prefix: str | None = None) -> list[Fact]:
        """Return the facts that hold or might hold, in the order of their topics; with a prefix, those below it."""
        below = None if prefix is None else checked_prefix(prefix)
        known = await self._known.of(scope)
        facts = [memory.fact for memory in alive(known.memories, self._now()) if memory.fact is not None]
        chosen = [fact for fact in facts if below is None or is_under(fact.topic, below)]
        return sorted(chosen, key=lambda fact: (fact.topic is None, fact.topic or "", fact.standing, fact.valid_from))

    async def history(self, scope: Scope, topic: str) -> list[Fact]:
        """Return what was true of this topic, oldest first, and what is true now."""
        partition, key = keys.user_partition(scope.user_id), keys.fact_key(scope, topic, "")
        past = await self._table.query(partition, prefix=keys.past_facts_prefix(topic, ""), limit=None)
        current = await self._table.get(key)
        return [fact_from(item) for item in (*past.items, *([current] if current else []))]

    async def as_of(self, scope: Scope, moment: datetime) -> list[Fact]:
        """Return the facts that held at this moment, as far as they were not forgotten since."""
        partition = keys.user_partition(scope.user_id)
        past = await self._table.query(partition, prefix=keys.PAST_FACTS, limit=None)
        facts = [fact_from(item) for item in past.items] + await self.all(scope)
        return [fact for fact in facts if held_at(fact, moment) and fact.standing is not Standing.CANDIDATE]

    async def _learn(self, scope: Scope, statement: Statement, replaced: Key | None, operation: str) -> Learned:
        around = await self._read_around(scope, statement, replaced)
        for item in (around.current, around.candidate):
            if item is not None and item.operation_id == operation:
                return Learned(outcome_from(item), fact_from(item))  # learned already by this very operation
        learning = learn(
            statement,
            self._now(),
            current=None if around.compared is None else fact_from(around.compared),
            candidate=None if around.candidate is None else fact_from(around.candidate),
            tombstone=None if around.tombstone is None else tombstone_from(around.tombstone),
        )
        await self._table.write(_writes(scope, learning, around), operation_id=operation)
        return Learned(learning.outcome, learning.fact, learning.superseded, learning.stands)

    async def _read_around(self, scope: Scope, statement: Statement, replaced: Key | None) -> _Around:
        own_id = fact_id(statement.topic, statement.text)
        current = keys.fact_key(scope, statement.topic, own_id)
        candidate = keys.possible_fact_key(scope, statement.topic, own_id, statement.fingerprint)
        tombstone = keys.tombstone_key(scope, statement.fingerprint)
        wanted = [current, candidate, tombstone, *([replaced] if replaced else [])]
        found = await self._table.get_many(set(wanted))
        elsewhere = replaced if replaced not in (current, candidate) else None
        if elsewhere is not None and elsewhere not in found:
            raise NotFoundError("the fact to replace was removed in the meantime")
        return _Around(
            found.get(current), found.get(candidate), found.get(tombstone), found.get(elsewhere) if elsewhere else None
        )


def _writes(scope: Scope, learning: Learning, around: _Around) -> list[Write]:
    writes: list[Write] = [raise_stamp(scope), _keep(scope, learning, around)]
    if learning.superseded is not None and around.compared is not None:
        writes += _retire(scope, around.compared, learning.superseded, remove=around.compared is around.replaced)
    elif around.replaced is not None and learning.outcome is not Outcome.CANDIDATE and around.current is not None:
        past = replace(fact_from(around.replaced), standing=Standing.PAST, valid_to=learning.fact.said_at)
        writes += _retire(scope, around.replaced, past, remove=True)
    if learning.drops_candidate and around.candidate is not None:
        writes.append(Delete(around.candidate.key, around.candidate.version))
    if learning.lifts_tombstone and around.tombstone is not None:
        writes.append(Delete(around.tombstone.key))
    return writes


def _keep(scope: Scope, learning: Learning, around: _Around) -> Put:
    fact = learning.fact
    possible = fact.standing is Standing.CANDIDATE
    stored = around.candidate if possible else around.current
    if possible:
        key = keys.possible_fact_key(scope, fact.topic, fact.id, fact.fingerprint)
    else:
        key = keys.fact_key(scope, fact.topic, fact.id)
    # A supported fact is written over its item, so that what a later release stored there survives.
    over = stored.body if stored is not None and learning.outcome is Outcome.SUPPORTED else None
    body = {**fact_body(fact, over), OUTCOME: learning.outcome.value}
    return Put(key, body, expected_version=stored.version if stored else 0, expires_at=fact.expires_at)


def _retire(scope: Scope, item: Item, past: Fact, *, remove: bool) -> list[Write]:
    if past.valid_to is None:
        raise AssertionError("a past fact has an end")
    key = keys.past_fact_key(scope, past.topic, past.id, past.valid_to)
    kept = Put(key, fact_body(past, item.body), expected_version=0, expires_at=past.expires_at)
    return [kept, Delete(item.key, item.version)] if remove else [kept]
