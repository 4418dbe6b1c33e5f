"""Facts: learn, list, look back."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from mcp_memory_server.domain.credentials import refuse_credentials
from mcp_memory_server.domain.facts import (
    Fact,
    Learning,
    Outcome,
    Standing,
    Statement,
    ended,
    fact_id,
    held_at,
    learn,
    may_replace,
)
from mcp_memory_server.domain.items import Delete, Item, Key, Put, Write
from mcp_memory_server.domain.memories import Kind, alive, from_fact, without_repetitions
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.topics import checked_prefix, is_under
from mcp_memory_server.errors import ConflictError, NotFoundError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import OUTCOME, fact_body, fact_from, outcome_from, tombstone_from
from mcp_memory_server.schema.stamps import raise_stamp
from mcp_memory_server.services.embeddings import Embeddings
from mcp_memory_server.services.known_memories import KnownMemories
from mcp_memory_server.services.writing import operation_of, until_it_holds


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
        """What the statement is held against: what its topic holds, or else the fact that it says it replaces."""
        if self.current is None and self.replaced is not None:
            return None if fact_from(self.replaced).standing is Standing.CANDIDATE else self.replaced
        return self.current


class Facts:
    """What is known about a user, topic by topic."""

    def __init__(
        self, table: ItemTable, known: KnownMemories, embeddings: Embeddings, now: Callable[[], datetime]
    ) -> None:
        self._table = table
        self._known = known
        self._embeddings = embeddings
        self._now = now

    async def learn(
        self, scope: Scope, statement: Statement, *, replaces: str | None = None, operation_id: str | None = None
    ) -> Learned:
        """Keep the statement and tell what it did. Once this returns, it is never lost.

        ``replaces`` is the id of a fact that no longer holds. The same operation id twice is learned once.

        Raises:
            ForgottenError: The user asked to forget it, and has not confirmed it since.
            NotFoundError: There is no fact with the id that it replaces.
            InvalidRequestError: It holds a credential.
        """
        refuse_credentials("fact", statement.text, name=statement.topic)
        operation = operation_of(operation_id, "fact", statement.topic or "", statement.text)
        replaced: Key | None = None
        if replaces is not None:
            try:
                old = await self.get(scope, replaces)
            except NotFoundError:
                if (learned := await self._learned_by(scope, operation)) is None:
                    raise
                return learned  # a repetition: it was replaced the first time
            replaced = keys.memory_key(scope, from_fact(old))
            statement = replace(statement, topic=statement.topic or old.topic)
        if operation_id is None and replaces is None:
            with suppress(ConflictError):  # something is known already that it has to be held against
                return await self._learn_as_new(scope, statement, operation)
        return await until_it_holds(lambda: self._learn(scope, statement, replaced, operation))

    async def get(self, scope: Scope, fact_id: str) -> Fact:
        """Return the fact with this id, current or only possible.

        Raises:
            NotFoundError: There is none.
        """
        for fact in await self.all(scope):
            if fact.id == fact_id:
                return fact
        raise NotFoundError(f"no fact has the id {fact_id[:80]!r}; `recall` shows the ids of what is known")

    async def all(self, scope: Scope, prefix: str | None = None) -> list[Fact]:
        """Return the facts that hold or might hold, in the order of their topics; with a prefix, those below it."""
        below = None if prefix is None else checked_prefix(prefix)
        known = await self._known.of(scope)
        facts = [memory.fact for memory in alive(known.memories, self._now()) if memory.fact is not None]
        chosen = [fact for fact in facts if below is None or is_under(fact.topic, below)]
        return sorted(chosen, key=_listing)

    async def history(self, scope: Scope, topic: str) -> list[Fact]:
        """Return what was true of this topic, oldest first, and what is true now."""
        partition, key = keys.user_partition(scope.user_id), keys.fact_key(scope, topic, "")
        past = await self._table.query(partition, prefix=keys.past_facts_prefix(topic, ""), limit=None)
        current = await self._table.get(key)
        return [fact_from(item) for item in (*past.items, *([current] if current else []))]

    async def as_of(self, scope: Scope, moment: datetime) -> list[Fact]:
        """Return the facts that held at this moment, as far as they were not forgotten since."""
        past, known = await self._known.past(scope), await self._known.of(scope)
        held = [
            memory
            for memory in alive([*past.rows, *known.rows], self._now())
            if memory.fact and held_at(memory.fact, moment) and memory.kind is not Kind.CANDIDATE
        ]
        return [memory.fact for memory in without_repetitions(held) if memory.fact]

    async def _learned_by(self, scope: Scope, operation: str) -> Learned | None:
        page = await self._table.query(keys.user_partition(scope.user_id), prefix=keys.ANY_FACTS, limit=None)
        found = (item for item in page.items if item.operation_id == operation)
        return next((Learned(outcome_from(item), fact_from(item)) for item in found), None)

    async def _learn_as_new(self, scope: Scope, statement: Statement, operation: str) -> Learned:
        """Learn what is new, as most is, without reading first: the write is refused if anything is there."""
        learning = learn(statement, self._now())
        own_id = learning.fact.id
        absent = (
            keys.possible_fact_key(scope, statement.topic, own_id, statement.fingerprint),
            keys.tombstone_key(scope, statement.fingerprint),
        )
        fact = await self._embedded(_keep(scope, learning, _Around(None, None, None, None)), learning.fact)
        writes = [raise_stamp(scope, fact.key), fact, *(Delete(key, expected_version=0) for key in absent)]
        await self._table.write(writes, operation_id=operation)
        return Learned(learning.outcome, learning.fact)

    async def _learn(self, scope: Scope, statement: Statement, replaced: Key | None, operation: str) -> Learned:
        around = await self._read_around(scope, statement, replaced)
        for item in (around.current, around.candidate):
            if item is not None and item.operation_id == operation:
                return Learned(outcome_from(item), fact_from(item))  # learned already by this very operation
        now = self._now()
        learning = learn(
            statement,
            now,
            current=None if around.compared is None else fact_from(around.compared),
            candidate=None if around.candidate is None else fact_from(around.candidate),
            tombstone=None if around.tombstone is None else tombstone_from(around.tombstone),
        )
        fact = await self._embedded(_keep(scope, learning, around), learning.fact)
        writes: list[Write] = [fact, *_clear(scope, learning, around)]
        if around.tombstone is None:  # nor may one have been put there since it was looked for
            writes.append(Delete(keys.tombstone_key(scope, statement.fingerprint), expected_version=0))
        for item in await self._no_longer_true(scope, learning, around):
            writes += _end(scope, statement, learning, item, now)
        stamp = raise_stamp(scope, *(write.key for write in writes))
        await self._table.write([stamp, *writes], operation_id=operation)
        return Learned(learning.outcome, learning.fact, learning.superseded, learning.stands)

    async def _embedded(self, put: Put, fact: Fact) -> Put:
        return replace(put, body={**put.body, **await self._embeddings.beside(from_fact(fact).searched_text)})

    async def _no_longer_true(self, scope: Scope, learning: Learning, around: _Around) -> list[Item]:
        """Return what is replaced by name, and what says without a topic the same as the fact that was superseded."""
        items = [] if around.replaced is None else [around.replaced]
        if learning.superseded is not None and learning.superseded.topic is not None:
            loose = keys.fact_key(scope, None, fact_id(None, learning.superseded.text))
            items += (await self._table.get_many({loose} - {item.key for item in items})).values()
        return items

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


def _listing(fact: Fact) -> tuple[bool, str, bool, datetime]:
    """Return what puts facts in the order of their topics, and a guess behind what is known."""
    return fact.topic is None, fact.topic or "", fact.standing is Standing.CANDIDATE, fact.valid_from


def _keep(scope: Scope, learning: Learning, around: _Around) -> Put:
    fact = learning.fact
    stored = around.candidate if fact.standing is Standing.CANDIDATE else around.current
    # The same statement is written over its item, so that what a later release stored there survives.
    same = around.compared if learning.outcome is Outcome.SUPPORTED else around.candidate
    body = {**fact_body(fact, None if same is None else same.body), OUTCOME: learning.outcome.value}
    key = keys.memory_key(scope, from_fact(fact))
    return Put(key, body, expected_version=stored.version if stored else 0, expires_at=fact.expires_at)


def _clear(scope: Scope, learning: Learning, around: _Around) -> list[Write]:
    """Return what becomes of the items around the fact."""
    writes: list[Write] = []
    if learning.superseded is not None and around.current is not None:
        writes.append(_past(scope, around.current, learning.superseded))
    if learning.drops_candidate and around.candidate is not None:
        writes.append(Delete(around.candidate.key, around.candidate.version))
    if learning.lifts_tombstone and around.tombstone is not None:
        writes.append(Delete(around.tombstone.key))
    return writes


def _end(scope: Scope, statement: Statement, learning: Learning, item: Item, now: datetime) -> list[Write]:
    """Return what becomes of the fact that is replaced: history, unless it is the same one or was never sure."""
    removal, fact = Delete(item.key, item.version), fact_from(item)
    if fact.standing is Standing.CANDIDATE:
        return [removal]
    if learning.outcome is Outcome.CANDIDATE or not may_replace(statement, fact, now):
        return []
    if fact.fingerprint == statement.fingerprint:
        return [removal]
    changed = learning.fact.valid_from if learning.outcome is Outcome.SUPERSEDED else learning.fact.said_at
    return [_past(scope, item, ended(fact, changed)), removal]


def _past(scope: Scope, item: Item, past: Fact) -> Put:
    key = keys.memory_key(scope, from_fact(past))
    return Put(key, fact_body(past, item.body), expected_version=0, expires_at=past.expires_at)
