"""Facts: learn, end, list, look back."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from itertools import count
from weakref import WeakValueDictionary

from mcp_memory_server.domain.facts.as_of import true_then
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
from mcp_memory_server.domain.facts.topics import checked_prefix, checked_topic, is_under, same_topic
from mcp_memory_server.domain.kernel.credentials import refuse_credentials
from mcp_memory_server.domain.kernel.items import Delete, Item, Key, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.recall.memories import (
    Kind,
    UserSnapshot,
    current,
    from_fact,
    is_unexpired,
    unexpired,
    without_duplicates,
)
from mcp_memory_server.domain.recall.memory_ids import resolved_id
from mcp_memory_server.errors import ConflictError, InvalidRequestError, NotFoundError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import fact_from, outcome_from, tombstone_from
from mcp_memory_server.schema.user_versions import bump_version
from mcp_memory_server.services.facts.fact_writes import (
    MOST_BESIDE,
    MOST_TOGETHER,
    put_of,
    surroundings,
    writes_beside,
    writes_of,
)
from mcp_memory_server.services.facts.history import all_versions
from mcp_memory_server.services.facts.related_facts import TOPIC, RelatedFacts
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.retries import operation_of, retry_on_conflict
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache

MOST_REPLACED = 50


@dataclass(frozen=True)
class Learned:
    """What learning did. ``superseded`` made way; ``stands`` was kept, because the new statement is weaker."""

    outcome: Outcome
    fact: Fact
    superseded: tuple[Fact, ...] = ()
    stands: Fact | None = None

    @property
    def earlier(self) -> Fact | None:
        """The first of what made way."""
        return next(iter(self.superseded), None)


class Facts:
    """What is known about a user."""

    def __init__(
        self, table: ItemTable, known: UserMemoryCache, embeddings: Embeddings, now: Callable[[], datetime]
    ) -> None:
        self._table = table
        self._known = known
        self._embeddings = embeddings
        self._now = now
        self._around = RelatedFacts(table, known)
        self._learning: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()

    async def learn(
        self,
        scope: Scope,
        statement: Statement,
        *,
        replaces: str | Sequence[str] | None = None,
        operation_id: str | None = None,
    ) -> Learned:
        """Keep the statement and tell what it did. Once this returns, it is never lost.

        The same sentence is one fact, under whatever topic it is said. ``replaces`` are the ids of facts that no longer
        hold, or ``"topic"`` to set the one value of the statement's topic. Without it, only what the statement says
        another value of makes way (`domain.supersession`). The same operation id twice is learned once.

        Raises:
            ForgottenError: The user asked to forget it, and has not confirmed it since.
            NotFoundError: There is no current fact with an id that it replaces.
            InvalidRequestError: It holds a credential.
        """
        refuse_credentials("fact", statement.text, name=statement.topic)
        operation = operation_of(operation_id, "fact", statement.topic or "", statement.text)
        named = _checked_names(statement, replaces)
        is_plain = statement.topic is None and not named and statement.source is not Source.INFERRED
        if is_plain and statement.said_at is None and operation_id is None:
            with suppress(ConflictError):  # something is known already that it has to be held against
                learned = await self._learn_as_new(scope, statement, operation)
                await self._known.note_own_write(scope)
                return learned
        async with self._one_at_a_time(scope):
            attempts = count()
            return await retry_on_conflict(lambda: self._learn(scope, statement, named, operation, next(attempts)))

    async def end(self, scope: Scope, fact_id: str, until: date | None = None) -> Fact:
        """Note that a fact is true no longer, or only up to and including a day, and return it. It stays as history.

        Raises:
            NotFoundError: There is no fact with this id.
            InvalidRequestError: It would end before it began.
        """
        async with self._one_at_a_time(scope):
            attempts = count()
            return await retry_on_conflict(lambda: self._end(scope, fact_id, until, next(attempts)))

    async def get(self, scope: Scope, fact_id: str) -> Fact:
        """Return the fact with this id: current, only possible, or else as history.

        Raises:
            NotFoundError: There is none.
        """
        known = await self._known.of(scope)
        fact_id = resolved_id(fact_id, known)
        found = [
            memory.fact for memory in unexpired(known.memories, self._now()) if memory.id == fact_id and memory.fact
        ]
        past = [memory.fact for memory in unexpired(known.past, self._now()) if memory.id == fact_id and memory.fact]
        for fact in (*found, *sorted(past, key=lambda one: one.valid_from, reverse=True)):
            return fact
        raise _nothing(fact_id)

    async def all(self, scope: Scope, prefix: str | None = None, *, past: bool = False) -> list[Fact]:
        """Return the facts that hold or might hold, in the order of their topics; with a prefix, those below it.

        With ``past``, those that held once too.
        """
        below = None if prefix is None else checked_prefix(prefix)
        known, now = await self._known.of(scope), self._now()
        rows = unexpired([*known.memories, *known.past], now) if past else current(known.memories, now)
        facts = [memory.fact for memory in rows if memory.fact is not None]
        chosen = [fact for fact in facts if below is None or is_under(fact.topic, below)]
        return sorted(chosen, key=_listing)

    async def history(self, scope: Scope, topic: str) -> list[Fact]:
        """Return what was true of this topic and what is, in the order in which it was learned."""
        known = await self._known.of(scope)
        sort_keys = known.by_topic.get(checked_topic(topic).casefold(), frozenset())
        return self._in_order(known, sort_keys)

    async def history_of(self, scope: Scope, fact_id: str) -> list[Fact]:
        """Return a fact with what it took the place of, and what took its place, in the order of their learning.

        Raises:
            NotFoundError: There is no fact with this id.
        """
        known = await self._known.of(scope)
        fact_id = resolved_id(fact_id, known)
        named = [sk for sk, memory in known.by_key.items() if memory.fact is not None and memory.id == fact_id]
        if not named:
            raise _nothing(fact_id)
        return self._in_order(known, all_versions(known, named))

    async def as_of(self, scope: Scope, moment: datetime) -> list[Fact]:
        """Return the facts that were true at this moment, as far as they were not forgotten since.

        Where it is not known since when something is true, the first that is known of it counts, although it was
        learned later (`learned_later`).
        """
        known, now = await self._known.of(scope), self._now()
        facts = {sk: row.fact for sk, row in known.by_key.items() if row.fact is not None and is_unexpired(row, now)}
        held = [known.by_key[sk] for sk in true_then(facts, moment)]
        return [memory.fact for memory in without_duplicates(held) if memory.fact]

    def _in_order(self, known: UserSnapshot, sort_keys: Iterable[str]) -> list[Fact]:
        rows = unexpired((known.by_key[sk] for sk in sort_keys), self._now())
        facts = [row.fact for row in rows if row.fact is not None and row.fact.standing is not Standing.CANDIDATE]
        return sorted(facts, key=lambda fact: (fact.valid_from, fact.standing is Standing.CURRENT, fact.id))

    def _one_at_a_time(self, scope: Scope) -> asyncio.Lock:
        """Return the lock under which a user's facts change in this process: each decides by what the last one wrote.

        It saves conflicts and whole readings; what several processes write is decided by the table.
        """
        return self._learning.setdefault((asyncio.get_running_loop(), scope.user_id), asyncio.Lock())

    async def _learn_as_new(self, scope: Scope, statement: Statement, operation: str) -> Learned:
        """Learn what is new, as most is, without reading first: the write is refused if anything is there."""
        learning = learn(statement, self._now())
        fact, own = await self._embedded(put_of(scope, learning, {}), learning.fact), statement.fingerprint
        absent = (keys.possible_fact_key(scope, own), keys.tombstone_key(scope, own))
        writes = [bump_version(scope, fact.key), fact, *(Delete(key, expected_version=0) for key in absent)]
        await self._table.write(writes, operation_id=operation)
        return Learned(learning.outcome, learning.fact)

    async def _learn(
        self, scope: Scope, statement: Statement, named: Sequence[str], operation: str, attempt: int
    ) -> Learned:
        known, version = await self._around.of(scope, statement, named, attempt)
        named = [name if name == TOPIC else resolved_id(name, known) for name in named]
        now = self._now()
        statement, replaced, missing = _resolved(known, statement, named, now)
        around = surroundings(known, statement, replaced, now)
        tombstone = await self._tombstone(scope, known, statement)
        touched = around.touched(
            around.decide(statement, now, None if tombstone is None else tombstone_from(tombstone))
        )
        touched |= around.candidate.keys() | (known.unreadable & {keys.fact_place(statement.fingerprint)})
        items = await self._items(scope, touched)
        for item in items.values():
            if item.operation_id == operation and fact_from(item).fingerprint == statement.fingerprint:
                return Learned(outcome_from(item), fact_from(item))  # learned already by this very operation
        if missing:
            raise _nothing(missing[0])
        around = around.as_read(items, touched)
        learning = around.decide(statement, now, None if tombstone is None else tombstone_from(tombstone))
        if learning.outcome is not Outcome.ENDED:
            guard = version if _has_one_value(statement, named) else None
            await self._write(scope, known, learning, around.items(items), tombstone, guard, operation)
        return Learned(learning.outcome, learning.fact, learning.superseded, learning.stands)

    async def _write(
        self,
        scope: Scope,
        known: UserSnapshot,
        learning: Learning,
        items: Mapping[Fact, Item],
        tombstone: Item | None,
        guard: int | None,
        operation: str,
    ) -> None:
        put = await self._embedded(put_of(scope, learning, items), learning.fact)
        # Nobody may have had it forgotten since that was looked for.
        mark = keys.tombstone_key(scope, learning.fact.fingerprint)
        lifting = Delete(mark, expected_version=0 if tombstone is None else tombstone.version)
        beside, rest = learning.changes[:MOST_BESIDE], learning.changes[MOST_BESIDE:]
        writes = [put, *writes_beside(scope, put, beside, items, known)]
        changed = [*(write.key for write in writes), *([] if tombstone is None else [mark])]
        bump = bump_version(scope, *changed, expected_version=guard)
        await self._table.write([bump, lifting, *writes], operation_id=operation)
        self._around.note_own_write(scope, learning.fact.topic, put.key)
        keys_of = {change: items[change.before].key for change in rest}
        for start in range(0, len(rest), MOST_TOGETHER):
            some = rest[start : start + MOST_TOGETHER]
            await retry_on_conflict(partial(self._make_way, scope, known, some, keys_of))

    async def _make_way(
        self, scope: Scope, known: UserSnapshot, changes: Sequence[Change], keys_of: Mapping[Change, Key]
    ) -> None:
        """Turn into history what had no room beside the fact. What somebody else has changed since stays so."""
        found = await self._table.get_many([keys_of[change] for change in changes])
        stored = [(change, found[key]) for change in changes if (key := keys_of[change]) in found]
        writes = [write for change, item in stored for write in writes_of(scope, change, item, known)]
        if writes:
            await self._table.write([bump_version(scope, *(write.key for write in writes)), *writes])

    async def _end(self, scope: Scope, fact_id: str, until: date | None, attempt: int) -> Fact:
        known, _ = await self._around.of(scope, None, [fact_id], attempt)
        fact_id, now = resolved_id(fact_id, known), self._now()
        stored = {sk: row.fact for sk, row in known.by_key.items() if row.fact is not None and is_unexpired(row, now)}
        named = [fact for fact in stored.values() if fact.id == fact_id]
        # What is current counts, then what was only possible, then what ended last.
        fact = min(named, key=lambda one: (_ORDER.index(one.standing), now - one.valid_from), default=None)
        if fact is None:
            raise _nothing(fact_id)
        check_order(fact.since, until)
        own = [sk for sk, one in stored.items() if one == fact or (_says_the_same(one, fact))]
        found = await self._items(scope, own)
        items = sorted(found.values(), key=lambda item: fact_from(item) != fact)
        if not items:
            raise ConflictError("it was removed in the meantime")
        changes = [Change(before := fact_from(item), _ended(before, until, now)) for item in items]
        writes = [
            write
            for change, item in zip(changes, items, strict=True)
            if change.after != change.before
            for write in writes_of(scope, change, item, known)
        ]
        if writes:
            await self._table.write([bump_version(scope, *(write.key for write in writes)), *writes])
        return changes[0].after or fact

    async def _items(self, scope: Scope, sort_keys: Collection[str]) -> Mapping[str, Item]:
        partition = keys.user_partition(scope.user_id)
        if not sort_keys:
            return {}
        return {
            key.sk: item for key, item in (await self._table.get_many([Key(partition, sk) for sk in sort_keys])).items()
        }

    async def _tombstone(self, scope: Scope, known: UserSnapshot, statement: Statement) -> Item | None:
        if statement.fingerprint not in known.forgotten:
            return None
        return await self._table.get(keys.tombstone_key(scope, statement.fingerprint))

    async def _embedded(self, put: Put, fact: Fact) -> Put:
        return replace(put, body={**put.body, **await self._embeddings.beside(from_fact(fact).searched_text)})


_ORDER = (Standing.CURRENT, Standing.CANDIDATE, Standing.PAST)


def _nothing(fact_id: str) -> NotFoundError:
    return NotFoundError(f"no current fact has the id {fact_id[:80]!r}; `recall` shows the ids of what is known")


def _listing(fact: Fact) -> tuple[bool, str, int, datetime]:
    """Return what puts facts in the order of their topics, a guess behind what is known, history last."""
    return fact.topic is None, (fact.topic or "").casefold(), _ORDER.index(fact.standing), fact.valid_from


def _checked_names(statement: Statement, replaces: str | Sequence[str] | None) -> tuple[str, ...]:
    named = () if replaces is None else (replaces,) if isinstance(replaces, str) else tuple(dict.fromkeys(replaces))
    if len(named) > MOST_REPLACED:
        raise InvalidRequestError(f"a fact can replace at most {MOST_REPLACED} others at once, got {len(named)} ids")
    if TOPIC in named and statement.topic is None:
        raise InvalidRequestError(f"replaces={TOPIC!r} needs the topic whose value is set")
    return named


def _resolved(
    known: UserSnapshot, statement: Statement, named: Sequence[str], now: datetime
) -> tuple[Statement, list[str], list[str]]:
    """Return the statement under its topic as it is written already, the sort keys that it names, and unknown ids."""
    under_topic = known.by_topic.get((statement.topic or "").casefold(), frozenset[str]())
    chosen = [sk for sk in under_topic if known.by_key[sk].kind is Kind.FACT] if TOPIC in named else []
    ids = {name: list[str]() for name in named if name != TOPIC}
    done = set[str]()
    for sk, row in known.by_key.items() if ids else ():
        if row.fact is None or row.id not in ids or not is_unexpired(row, now):
            continue
        if row.kind is not Kind.PAST:
            ids[row.id].append(sk)
        elif row.fact.superseded_by == statement.fingerprint:
            done.add(row.id)
    replaced = [sk for sort_keys in ids.values() for sk in sort_keys]
    topics = (known.by_key[sk].topic for sk in replaced)
    topic = statement.topic or next((topic for topic in topics if topic is not None), None)
    rows = [known.by_key[sk] for sk in known.by_topic.get((topic or "").casefold(), ())]
    written = min(rows, key=lambda row: row.since, default=None)
    statement = replace(statement, topic=topic if written is None else written.topic)
    return statement, [*chosen, *replaced], [name for name, found in ids.items() if not found and name not in done]


def _has_one_value(statement: Statement, named: Collection[str]) -> bool:
    """Tell whether no other value may be written at the same time unseen."""
    return TOPIC in named or is_single_valued(statement.topic)


def _says_the_same(one: Fact, other: Fact) -> bool:
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
