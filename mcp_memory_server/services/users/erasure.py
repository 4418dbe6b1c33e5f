"""Erase one memory so that it is not learned again, or all data of a user."""

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from mcp_memory_server.domain.facts.fact import Fact, Standing, Tombstone
from mcp_memory_server.domain.facts.supersession import is_update
from mcp_memory_server.domain.facts.topics import same_topic
from mcp_memory_server.domain.kernel.items import Delete, Item, Key, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.language.mentions import sketch
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot
from mcp_memory_server.domain.recall.memory_ids import resolved_id
from mcp_memory_server.domain.recall.turn_memories import TURN_ID_PREFIX
from mcp_memory_server.errors import ConflictError, NotFoundError, TableDamagedError, UnavailableError
from mcp_memory_server.ports.dead_letters import DeadLetters
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.outbox import Outbox
from mcp_memory_server.ports.session_cache import SessionCache
from mcp_memory_server.ports.shared_state_store import SharedStateStore
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import tombstone_body
from mcp_memory_server.schema.turn_records import (
    TURNS,
    counters_from,
    have_the_same_content,
    partitions_of,
    parts_of,
    session_of,
    sessions_of,
    turn_from,
)
from mcp_memory_server.schema.user_versions import bump_version
from mcp_memory_server.services.facts.history import earlier_versions
from mcp_memory_server.services.kernel.retries import retry_on_conflict
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache, memory_from
from mcp_memory_server.services.recall.index_registry import IndexRegistry
from mcp_memory_server.services.recall.user_index import turn_document
from mcp_memory_server.services.summaries.summaries import Summaries

T = TypeVar("T")

FORGOTTEN_AT_ONCE = 4
ERASED_AT_ONCE = 500
SESSIONS_AT_ONCE = 100


@dataclass(frozen=True)
class Forgotten:
    """The result: the text, the number of removed items, and among them of earlier versions with other texts."""

    id: str
    text: str
    removed: int
    earlier_versions: int = 0


@dataclass(frozen=True)
class OtherStores:
    """The stores beside the table that may hold data of a user."""

    sessions: SessionCache | None
    states: SharedStateStore
    queues: Sequence[Outbox | DeadLetters]

    async def drop(self, scope: Scope) -> None:
        """Drop the cached session and its shared state, which may quote its turns."""
        if self.sessions is not None:
            await self.sessions.drop(scope)
        await self.states.drop(scope)


class Erasure:
    """Erases memories and users."""

    def __init__(
        self,
        table: ItemTable,
        snapshots: UserMemoryCache,
        user_index: IndexRegistry,
        other_stores: Callable[[], OtherStores],
        now: Callable[[], datetime],
    ) -> None:
        self._table = table
        self._snapshots = snapshots
        self._indexes = user_index
        self._other_stores = other_stores
        self._now = now
        self._summaries = Summaries(table, now)

    async def forget(self, scope: Scope, memory_id: str) -> Forgotten:
        """Forget a memory. A fact is removed with its duplicates, its earlier versions and candidates for its value.

        A fingerprint of the fact remains, so that it is not learned again from old text. A turn is removed from its
        conversation, and so are turns with the same text elsewhere.

        Raises:
            NotFoundError: There is no memory with this id.
        """
        if memory_id.startswith(TURN_ID_PREFIX):
            return await self._forget_turn(scope, memory_id)
        memory_id = resolved_id(memory_id, await self._snapshots.of(scope))
        removed: list[StoredMemory] = []
        # Repeated until nothing is left: another writer may have turned it into history in the meantime.
        while some := await retry_on_conflict(lambda: self._forget(scope, memory_id)):
            removed += some
        if not removed:
            raise _not_found(memory_id)
        await self._table.scrub()
        named = next(memory for memory in removed if _is_named(memory, memory_id))
        earlier = [one for one in removed if one.kind is Kind.PAST and one.text != named.text]
        return Forgotten(memory_id, named.text, len(removed), len(earlier))

    async def _forget_turn(self, scope: Scope, memory_id: str) -> Forgotten:
        snapshot, activities = await self._snapshots.with_activity(scope)
        user_index, missing = await self._indexes.of(scope, snapshot, activities)
        places = {place.key(scope): place for place in user_index.places_of_turn(memory_id)}
        items = await self._table.get_many(places)
        # The named turn comes first. A turn whose text was changed since stays.
        named = items.get(next(iter(places))) if places else None
        if named is None:
            if missing:
                raise UnavailableError(f"it could not be looked up: {missing[0]}. Try again in a moment")
            raise _not_found(memory_id)
        same = [item for item in items.values() if item is named or have_the_same_content(item, named)]
        victims = [key for item in same for key in await self._with_parts(item)]
        text = await self._text(named)
        for session_id in {places[item.key].session_id for item in same}:
            await self._other_stores().drop(Scope(scope.user_id, session_id))
        await self._table.delete_many(victims)
        user_index.remove([turn_document(places[item.key]) for item in same])
        await self._table.scrub()
        return Forgotten(memory_id, text, len(victims))

    async def _text(self, turn: Item) -> str:
        place = parts_of(turn)
        parts = () if place is None else (await self._table.query(place, limit=None)).items
        with suppress(TableDamagedError):
            return turn_from(turn, parts).content
        return ""

    async def _with_parts(self, turn: Item) -> list[Key]:
        parts = parts_of(turn)
        further = () if parts is None else (await self._table.query(parts, limit=None, attributes=())).items
        return [turn.key, *(part.key for part in further)]

    async def forget_user(self, scope: Scope, progress: Callable[[int], None] = lambda _: None) -> int:
        """Remove all data of the user, tombstones included, and return the number of removed items.

        Raises:
            UnavailableError: A store did not answer. Repeating the call removes the rest.
        """
        # First the queues, from which turns could still be written to the table.
        other_stores = self._other_stores()
        removed = sum([await queue.erase(scope.user_id) for queue in other_stores.queues])
        async for partition in self._partitions(scope):
            while items := (await self._table.query(partition, limit=ERASED_AT_ONCE, attributes=())).items:
                await self._table.delete_many([item.key for item in items])
                removed += len(items)
                progress(removed)
        await self._table.scrub()
        return removed

    async def _partitions(self, scope: Scope) -> AsyncIterator[str]:
        """Yield every partition of the user, including those of each conversation that the index lists."""
        cursor: str | None = None
        while True:
            # One pass with a cursor: the index may list items that have expired or are deleted already.
            page = await self._table.find(sessions_of(scope), limit=SESSIONS_AT_ONCE, cursor=cursor)
            for key in page.keys:
                await self._other_stores().drop(session_of(key))
                async for partition in self._partitions_of_session(key):
                    yield partition
            if (cursor := page.cursor) is None:
                break
        yield keys.tools_partition(scope.user_id)
        yield keys.snapshots_partition(scope.user_id)
        yield keys.states_partition(scope.user_id)
        yield keys.user_partition(scope.user_id)

    async def _partitions_of_session(self, meta: Key) -> AsyncIterator[str]:
        """Yield the partitions of one conversation; the one that names all others comes last."""
        for partition in partitions_of(meta, counters_from(await self._table.get(meta))):
            turns = await self._table.query(partition, prefix=TURNS, limit=None, attributes=("parts",))
            for turn in turns.items:
                if (parts := parts_of(turn)) is not None:
                    yield parts
            yield partition

    async def _forget(self, scope: Scope, memory_id: str) -> list[StoredMemory]:
        snapshot = await self._snapshots.of(scope)
        partition = keys.user_partition(scope.user_id)
        by_key = {Key(partition, sk): snapshot.by_key[sk] for sk in _victims(snapshot, memory_id)}
        found = await self._table.get_many(by_key)
        as_read = {key: memory_from(item) for key, item in found.items()}
        if as_read != by_key and (await self._snapshots.of(scope)).version != snapshot.version:
            raise ConflictError("something was written there in the meantime")
        # Summaries first: after an interruption, a repeated call finds the memory and removes it from them again.
        await self._summaries.take_out(scope, [memory.text for memory in by_key.values()])
        for some in _chunks([key for key in by_key if key in found], FORGOTTEN_AT_ONCE):
            removals = (Delete(key, found[key].version) for key in some)
            tombstones = _tombstones(scope, [by_key[key] for key in some], self._now())
            version_bump = bump_version(scope, *some, *(tombstone.key for tombstone in tombstones))
            await self._table.write([version_bump, *removals, *tombstones])
        return [memory for key, memory in by_key.items() if key in found]


def _not_found(memory_id: str) -> NotFoundError:
    return NotFoundError(f"no memory has the id {memory_id[:80]!r}; `recall` shows the ids of what is known")


def _victims(snapshot: UserSnapshot, memory_id: str) -> list[str]:
    """Return the sort keys to remove: the memory, its duplicates and, if it is current, its history and candidates."""
    facts = {sk: memory.fact for sk, memory in snapshot.by_key.items() if memory.fact is not None}
    named = {sk for sk, memory in snapshot.by_key.items() if _is_named(memory, memory_id)}
    statements = {facts[sk].fingerprint for sk in named if sk in facts}
    current = {sk for sk in named if sk in facts and facts[sk].standing is Standing.CURRENT}
    victims = named | {sk for sk, fact in facts.items() if fact.fingerprint in statements}
    victims |= _history(snapshot, current) | _candidates(facts, [facts[sk] for sk in current])
    # Current facts last: as long as they exist, the rest is found again after an interruption.
    return sorted(victims, key=lambda sk: (sk in named, snapshot.by_key[sk].kind is Kind.FACT, sk))


def _is_named(memory: StoredMemory, memory_id: str) -> bool:
    if memory.kind is Kind.PREFERENCE:
        return memory.id.casefold() == memory_id.casefold()
    return memory.id == memory_id


def _history(snapshot: UserSnapshot, current: Collection[str]) -> set[str]:
    """Return the earlier versions. Releases up to 0.2 stored those of a topic together, without naming the fact."""
    found = earlier_versions(snapshot, current)
    for sk in current:
        beside = snapshot.by_topic.get((snapshot.by_key[sk].topic or "").casefold(), frozenset[str]())
        if not any(snapshot.by_key[one].kind is Kind.FACT for one in beside - {sk}):
            found |= {one for one in beside & snapshot.legacy if snapshot.by_key[one].kind is Kind.PAST}
    return found


def _candidates(facts: Mapping[str, Fact], current: Sequence[Fact]) -> set[str]:
    """Return the candidates for the values of the facts that are removed."""
    candidates = {sk: fact for sk, fact in facts.items() if fact.standing is Standing.CANDIDATE}
    return {
        sk
        for sk, candidate in candidates.items()
        for fact in current
        if same_topic(candidate.topic, fact.topic) and is_update(candidate.text, fact.text, fact.topic)
    }


def _tombstones(scope: Scope, victims: Sequence[StoredMemory], now: datetime) -> list[Put]:
    facts = {memory.fact.fingerprint: memory.fact for memory in victims if memory.fact}
    return [
        Put(
            keys.tombstone_key(scope, fingerprint),
            tombstone_body(Tombstone(fingerprint, now, sketch(fact.text), fact.session_id, fact.turn_id)),
        )
        for fingerprint, fact in sorted(facts.items())
    ]


def _chunks(entries: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (entries[start : start + size] for start in range(0, len(entries), size))
