"""Facts: learn, end and query. Every write is one transaction that also raises the user's version."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from heapq import merge
from itertools import count
from weakref import WeakValueDictionary

from mcp_memory_server.domain.facts.fact import (
    Fact,
    Outcome,
    Source,
    Standing,
    Statement,
    check_order,
    ended,
)
from mcp_memory_server.domain.facts.learning import Change, Learning, learn
from mcp_memory_server.domain.facts.supersession import is_single_valued
from mcp_memory_server.domain.facts.topics import same_topic
from mcp_memory_server.domain.kernel.credentials import refuse_credentials
from mcp_memory_server.domain.kernel.items import Delete, Item, Key, Put
from mcp_memory_server.domain.kernel.scope import Owner, Scope
from mcp_memory_server.domain.recall.memories import (
    UserSnapshot,
    from_fact,
    is_unexpired,
)
from mcp_memory_server.domain.recall.memory_ids import resolved_id
from mcp_memory_server.errors import ConflictError, ForgottenError, InvalidRequestError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.erased_users import erased_before, erased_user_key
from mcp_memory_server.schema.records import fact_from, outcome_from, tombstone_from
from mcp_memory_server.schema.user_versions import bump_version
from mcp_memory_server.services.facts.fact_queries import (
    STANDING_ORDER,
    fact_with_id,
    facts_as_of,
    facts_under,
    first_found,
    history_of_fact,
    history_of_topic,
    learning_order,
    no_such_fact,
    topic_order,
)
from mcp_memory_server.services.facts.fact_writes import (
    MOST_WITH_NEW_FACT,
    MOST_WITHOUT_NEW_FACT,
    affected_facts,
    put_of,
    writes_beside,
    writes_of,
)
from mcp_memory_server.services.facts.placement import scope_of_statement, scopes_of_memory
from mcp_memory_server.services.facts.related_facts import TOPIC, RelatedFacts
from mcp_memory_server.services.facts.replaced_facts import checked_names, resolve_names
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.retries import operation_of, retry_on_conflict
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache


@dataclass(frozen=True)
class Learned:
    """The result of learning. ``superseded`` facts became history; ``stands`` was kept, because the statement is
    weaker.
    """

    outcome: Outcome
    fact: Fact
    superseded: tuple[Fact, ...] = ()
    stands: Fact | None = None
    owner: Owner | None = None
    """To what it was written; None if that is not known."""

    @property
    def earlier(self) -> Fact | None:
        """The first superseded fact."""
        return next(iter(self.superseded), None)


class Facts:
    """The facts of all users."""

    def __init__(
        self, table: ItemTable, snapshots: UserMemoryCache, embeddings: Embeddings, now: Callable[[], datetime]
    ) -> None:
        self._table = table
        self._snapshots = snapshots
        self._embeddings = embeddings
        self._now = now
        self._related = RelatedFacts(table, snapshots)
        self._learning: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()

    async def learn(
        self,
        scope: Scope,
        statement: Statement,
        *,
        replaces: str | Sequence[str] | None = None,
        operation_id: str | None = None,
    ) -> Learned:
        """Store the statement and return what it did. It is durable when this returns.

        The same sentence is one fact, whatever its topic. ``replaces`` are the ids of facts that are no longer true, or
        ``"topic"`` to set the one value of the statement's topic. Without it, the statement supersedes only facts of
        which it gives another value (`domain.facts.supersession`). A retry with the same operation id is learned once.

        A scope with several owners decides which of them it belongs to (`services.facts.placement`).

        Raises:
            ForgottenError: The user asked to forget it, and has not confirmed it since.
            NotFoundError: There is no current fact with an id that it replaces.
            NotPermittedError: A fact that it replaces may only be read.
            InvalidRequestError: It holds a credential.
        """
        refuse_credentials("fact", statement.text, name=statement.topic)
        operation = operation_of(operation_id, "fact", statement.topic or "", statement.text)
        named = checked_names(statement, replaces)
        if statement.said_at is not None:
            tombstone = await self._table.get(erased_user_key(scope.user_id))
            if statement.said_at <= erased_before(tombstone):
                raise ForgottenError("this was said before everything of the user was deleted, so it was not learned")
        scope = await scope_of_statement(self._snapshots, scope, statement, [one for one in named if one != TOPIC])
        is_plain = statement.topic is None and not named and statement.source is not Source.INFERRED
        if is_plain and statement.said_at is None and operation_id is None:
            with suppress(ConflictError):  # the same statement is stored or forgotten: compare them
                learned = await self._learn_as_new(scope, statement, operation)
                await self._snapshots.note_own_write(scope)
                return replace(learned, owner=scope.owner)
        async with self._one_at_a_time(scope):
            attempts = count()
            learned = await retry_on_conflict(lambda: self._learn(scope, statement, named, operation, next(attempts)))
            return replace(learned, owner=scope.owner)

    async def end(self, scope: Scope, fact_id: str, until: date | None = None) -> Fact:
        """Record that a fact is no longer true, or only up to and including a day, and return it. It stays as history.

        Raises:
            NotFoundError: There is no fact with this id.
            InvalidRequestError: It would end before it began.
        """
        held = await scopes_of_memory(self._snapshots, scope, fact_id)
        if not held:
            raise no_such_fact(fact_id)
        ended_facts = [await self._end_at(each, fact_id, until) for each in held]
        return ended_facts[0]

    async def get(self, scope: Scope, fact_id: str) -> Fact:
        """Return the fact with this id: current, a candidate, or else history.

        Raises:
            NotFoundError: There is none.
        """
        now = self._now()
        return first_found(await self._read(scope), lambda snapshot: fact_with_id(snapshot, fact_id, now))

    async def all(self, scope: Scope, prefix: str | None = None, *, past: bool = False) -> list[Fact]:
        """Return current facts and candidates in the order of their topics, optionally only those under a prefix.

        With ``past``, facts that were true once as well.
        """
        now = self._now()
        found = [facts_under(snapshot, now, prefix, past=past) for snapshot in await self._read(scope)]
        return list(merge(*found, key=topic_order))

    async def missing(self, scope: Scope) -> tuple[str, ...]:
        """Return sentences about what the other methods leave out because it cannot be read; none if all is there."""
        return (await self._snapshots.of(scope)).missing

    async def history(self, scope: Scope, topic: str) -> list[Fact]:
        """Return the past and current facts of this topic, in the order in which they were learned."""
        now = self._now()
        found = [history_of_topic(snapshot, topic, now) for snapshot in await self._read(scope)]
        return list(merge(*found, key=learning_order))

    async def history_of(self, scope: Scope, fact_id: str) -> list[Fact]:
        """Return a fact with the facts it superseded and those that superseded it, in the order of learning.

        Raises:
            NotFoundError: There is no fact with this id.
        """
        now = self._now()
        return first_found(await self._read(scope), lambda snapshot: history_of_fact(snapshot, fact_id, now))

    async def as_of(self, scope: Scope, moment: datetime) -> list[Fact]:
        """Return the facts that were true at this moment, without those that were forgotten since.

        If the start of a fact is unknown, its first known value counts although it was learned later (`learned_later`).
        """
        now = self._now()
        return [fact for snapshot in await self._read(scope) for fact in facts_as_of(snapshot, moment, now)]

    async def _read(self, scope: Scope) -> list[UserSnapshot]:
        return await asyncio.gather(*(self._snapshots.of(each) for each in scope.parts))

    async def _end_at(self, scope: Scope, fact_id: str, until: date | None) -> Fact:
        async with self._one_at_a_time(scope):
            attempts = count()
            return await retry_on_conflict(lambda: self._end(scope, fact_id, until, next(attempts)))

    def _one_at_a_time(self, scope: Scope) -> asyncio.Lock:
        """Return the lock under which this process changes a user's facts.

        It avoids conflicts and repeated reads; between processes the table decides.
        """
        return self._learning.setdefault((asyncio.get_running_loop(), scope.owner), asyncio.Lock())

    async def _learn_as_new(self, scope: Scope, statement: Statement, operation: str) -> Learned:
        """Learn a new statement without reading first, as most are new: the write is refused if it is stored or
        forgotten.
        """
        learning = learn(statement, self._now())
        fact, own = await self._embedded(put_of(scope, learning, {}), learning.fact), statement.fingerprint
        absent = (keys.possible_fact_key(scope, own), keys.tombstone_key(scope, own))
        writes = [bump_version(scope, fact.key), fact, *(Delete(key, expected_version=0) for key in absent)]
        await self._table.write(writes, operation_id=operation)
        return Learned(learning.outcome, learning.fact)

    async def _learn(
        self, scope: Scope, statement: Statement, named: Sequence[str], operation: str, attempt: int
    ) -> Learned:
        snapshot, version = await self._related.of(scope, statement, named, attempt)
        named = [name if name == TOPIC else resolved_id(name, snapshot) for name in named]
        now = self._now()
        statement, replaced, missing = resolve_names(snapshot, statement, named, now)
        affected = affected_facts(snapshot, statement, replaced, now)
        tombstone = await self._tombstone(scope, snapshot, statement)
        touched = affected.touched(
            affected.decide(statement, now, None if tombstone is None else tombstone_from(tombstone))
        )
        touched |= affected.candidate.keys() | (snapshot.unreadable & {keys.fact_place(statement.fingerprint)})
        items = await self._items(scope, touched)
        for item in items.values():
            if item.operation_id == operation and fact_from(item).fingerprint == statement.fingerprint:
                return Learned(outcome_from(item), fact_from(item))  # a retry of this very operation
        if missing:
            raise no_such_fact(missing[0])
        affected = affected.as_read(items, touched)
        learning = affected.decide(statement, now, None if tombstone is None else tombstone_from(tombstone))
        if learning.outcome is not Outcome.ENDED:
            expected_version = version if _has_one_value(statement, named) else None
            await self._write(scope, snapshot, learning, affected.items(items), tombstone, expected_version, operation)
        return Learned(learning.outcome, learning.fact, learning.superseded, learning.stands)

    async def _write(
        self,
        scope: Scope,
        snapshot: UserSnapshot,
        learning: Learning,
        items: Mapping[Fact, Item],
        tombstone: Item | None,
        expected_version: int | None,
        operation: str,
    ) -> None:
        put = await self._embedded(put_of(scope, learning, items), learning.fact)
        # The write is refused if the statement was forgotten in the meantime.
        tombstone_key = keys.tombstone_key(scope, learning.fact.fingerprint)
        tombstone_removal = Delete(tombstone_key, expected_version=0 if tombstone is None else tombstone.version)
        beside, rest = learning.changes[:MOST_WITH_NEW_FACT], learning.changes[MOST_WITH_NEW_FACT:]
        writes = [put, *writes_beside(scope, put, beside, items, snapshot)]
        changed = [*(write.key for write in writes), *([] if tombstone is None else [tombstone_key])]
        version_bump = bump_version(scope, *changed, expected_version=expected_version)
        await self._table.write([version_bump, tombstone_removal, *writes], operation_id=operation)
        self._related.note_own_write(scope, learning.fact.topic, put.key)
        keys_of = {change: items[change.before].key for change in rest}
        for start in range(0, len(rest), MOST_WITHOUT_NEW_FACT):
            some = rest[start : start + MOST_WITHOUT_NEW_FACT]
            await retry_on_conflict(partial(self._apply_changes, scope, snapshot, some, keys_of))

    async def _apply_changes(
        self, scope: Scope, snapshot: UserSnapshot, changes: Sequence[Change], keys_of: Mapping[Change, Key]
    ) -> None:
        """Write changes that did not fit into the transaction of the fact. Facts changed by another writer since are
        skipped.
        """
        found = await self._table.get_many([keys_of[change] for change in changes])
        stored = [(change, found[key]) for change in changes if (key := keys_of[change]) in found]
        writes = [write for change, item in stored for write in writes_of(scope, change, item, snapshot)]
        if writes:
            await self._table.write([bump_version(scope, *(write.key for write in writes)), *writes])

    async def _end(self, scope: Scope, fact_id: str, until: date | None, attempt: int) -> Fact:
        snapshot, _ = await self._related.of(scope, None, [fact_id], attempt)
        fact_id, now = resolved_id(fact_id, snapshot), self._now()
        stored = {
            sk: row.fact for sk, row in snapshot.by_key.items() if row.fact is not None and is_unexpired(row, now)
        }
        named = [fact for fact in stored.values() if fact.id == fact_id]
        # A current fact comes first, then a candidate, then the fact that ended last.
        fact = min(named, key=lambda one: (STANDING_ORDER.index(one.standing), now - one.valid_from), default=None)
        if fact is None:
            raise no_such_fact(fact_id)
        check_order(fact.since, until)
        own = [sk for sk, one in stored.items() if one == fact or (_is_duplicate(one, fact))]
        found = await self._items(scope, own)
        items = sorted(found.values(), key=lambda item: fact_from(item) != fact)
        if not items:
            raise ConflictError("it was removed in the meantime")
        changes = [Change(before := fact_from(item), _ended(before, until, now)) for item in items]
        writes = [
            write
            for change, item in zip(changes, items, strict=True)
            if change.after != change.before
            for write in writes_of(scope, change, item, snapshot)
        ]
        if writes:
            await self._table.write([bump_version(scope, *(write.key for write in writes)), *writes])
        return changes[0].after or fact

    async def _items(self, scope: Scope, sort_keys: Collection[str]) -> Mapping[str, Item]:
        partition = keys.partition_of(scope)
        if not sort_keys:
            return {}
        return {
            key.sk: item for key, item in (await self._table.get_many([Key(partition, sk) for sk in sort_keys])).items()
        }

    async def _tombstone(self, scope: Scope, snapshot: UserSnapshot, statement: Statement) -> Item | None:
        if statement.fingerprint not in snapshot.forgotten:
            return None
        return await self._table.get(keys.tombstone_key(scope, statement.fingerprint))

    async def _embedded(self, put: Put, fact: Fact) -> Put:
        return replace(put, body={**put.body, **await self._embeddings.beside(from_fact(fact).searched_text)})


def _has_one_value(statement: Statement, named: Collection[str]) -> bool:
    """Check whether the write must be refused if another value is written at the same time."""
    return TOPIC in named or is_single_valued(statement.topic)


def _is_duplicate(one: Fact, other: Fact) -> bool:
    is_current = one.standing is other.standing is Standing.CURRENT
    return (
        is_current
        and one.fingerprint == other.fingerprint
        and (one.topic is None or same_topic(one.topic, other.topic))
    )


def _ended(fact: Fact, until: date | None, now: datetime) -> Fact:
    if fact.standing is Standing.PAST:
        if until is not None and fact.valid_to is not None and until > fact.valid_to.date():
            raise InvalidRequestError(f"until must not be after {fact.valid_to.date()}, when it was noted as over")
        return replace(fact, until=until or fact.until)
    if until is not None and until >= now.date():
        return replace(fact, until=until)
    return ended(fact if until is None else replace(fact, until=None), now, until=until)
