"""Forgetting: one memory so that it is not learned again, or a user so that nothing is left."""

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
from mcp_memory_server.ports.session_memory import SessionMemory
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
    """What was removed: the text, in so many stored items, among them so many earlier versions with other texts."""

    id: str
    text: str
    removed: int
    earlier_versions: int = 0


@dataclass(frozen=True)
class Elsewhere:
    """Where something of a user may lie beside the table."""

    sessions: SessionMemory | None
    queues: Sequence[Outbox | DeadLetters]


class Erasure:
    """Takes memories away for good."""

    def __init__(
        self,
        table: ItemTable,
        known: UserMemoryCache,
        searchable: IndexRegistry,
        elsewhere: Callable[[], Elsewhere],
        now: Callable[[], datetime],
    ) -> None:
        self._table = table
        self._known = known
        self._searchable = searchable
        self._elsewhere = elsewhere
        self._now = now
        self._summaries = Summaries(table, now)

    async def forget(self, scope: Scope, memory_id: str) -> Forgotten:
        """Forget a memory. A fact goes with its repetitions, its earlier versions and what was only guessed beside it.

        What is left of a fact is a fingerprint, by which it is not learned again from old text. A turn is taken out of
        its conversation, and so is the same said again elsewhere.

        Raises:
            NotFoundError: There is no memory with this id.
        """
        if memory_id.startswith(TURN_ID_PREFIX):
            return await self._forget_turn(scope, memory_id)
        memory_id = resolved_id(memory_id, await self._known.of(scope))
        removed: list[StoredMemory] = []
        # Again until nothing is left: another writer may have turned it into history in the meantime.
        while some := await retry_on_conflict(lambda: self._forget(scope, memory_id)):
            removed += some
        if not removed:
            raise _nothing(memory_id)
        await self._table.scrub()
        named = next(memory for memory in removed if _is_named(memory, memory_id))
        earlier = [one for one in removed if one.kind is Kind.PAST and one.text != named.text]
        return Forgotten(memory_id, named.text, len(removed), len(earlier))

    async def _forget_turn(self, scope: Scope, memory_id: str) -> Forgotten:
        known, talks = await self._known.with_activity(scope)
        searchable, missing = await self._searchable.of(scope, known, talks)
        places = {place.key(scope): place for place in searchable.places_of_turn(memory_id)}
        items = await self._table.get_many(places)
        # The one that was named comes first. Whatever became something else since stays.
        named = items.get(next(iter(places))) if places else None
        if named is None:
            if missing:
                raise UnavailableError(f"it could not be looked up: {missing[0]}. Try again in a moment")
            raise _nothing(memory_id)
        same = [item for item in items.values() if item is named or have_the_same_content(item, named)]
        victims = [key for item in same for key in await self._with_parts(item)]
        text = await self._text(named)
        if (sessions := self._elsewhere().sessions) is not None:
            for session_id in {places[item.key].session_id for item in same}:
                await sessions.drop(Scope(scope.user_id, session_id))
        await self._table.delete_many(victims)
        searchable.take_out([turn_document(places[item.key]) for item in same])
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
        """Remove everything of the user, marks of forgotten things included, and return how many items that were.

        Raises:
            UnavailableError: Something did not answer. What is left goes when this is done again.
        """
        # First what could still get into the table.
        elsewhere = self._elsewhere()
        removed = sum([await queue.erase(scope.user_id) for queue in elsewhere.queues])
        async for partition in self._partitions(scope):
            while items := (await self._table.query(partition, limit=ERASED_AT_ONCE, attributes=())).items:
                await self._table.delete_many([item.key for item in items])
                removed += len(items)
                progress(removed)
        await self._table.scrub()
        return removed

    async def _partitions(self, scope: Scope) -> AsyncIterator[str]:
        """Yield every partition of the user, those of each conversation that the index lists too."""
        cursor: str | None = None
        while True:
            # Walked once with its cursor: the index may list what has expired, or is deleted already.
            page = await self._table.find(sessions_of(scope), limit=SESSIONS_AT_ONCE, cursor=cursor)
            for key in page.keys:
                if (sessions := self._elsewhere().sessions) is not None:
                    await sessions.drop(session_of(key))
                async for partition in self._partitions_of_session(key):
                    yield partition
            if (cursor := page.cursor) is None:
                break
        yield keys.tools_partition(scope.user_id)
        yield keys.snapshots_partition(scope.user_id)
        yield keys.user_partition(scope.user_id)

    async def _partitions_of_session(self, meta: Key) -> AsyncIterator[str]:
        """Yield the partitions of one conversation, the one that tells of all others last."""
        for partition in partitions_of(meta, counters_from(await self._table.get(meta))):
            turns = await self._table.query(partition, prefix=TURNS, limit=None, attributes=("parts",))
            for turn in turns.items:
                if (parts := parts_of(turn)) is not None:
                    yield parts
            yield partition

    async def _forget(self, scope: Scope, memory_id: str) -> list[StoredMemory]:
        known = await self._known.of(scope)
        partition = keys.user_partition(scope.user_id)
        by_key = {Key(partition, sk): known.by_key[sk] for sk in _victims(known, memory_id)}
        found = await self._table.get_many(by_key)
        as_read = {key: memory_from(item) for key, item in found.items()}
        if as_read != by_key and (await self._known.of(scope)).version != known.version:
            raise ConflictError("something was written there in the meantime")
        # First, because it is told again by whoever repeats this after an interruption.
        await self._summaries.take_out(scope, [memory.text for memory in by_key.values()])
        for some in _chunks([key for key in by_key if key in found], FORGOTTEN_AT_ONCE):
            removals = (Delete(key, found[key].version) for key in some)
            marks = _marks(scope, [by_key[key] for key in some], self._now())
            bump = bump_version(scope, *some, *(mark.key for mark in marks))
            await self._table.write([bump, *removals, *marks])
        return [memory for key, memory in by_key.items() if key in found]


def _nothing(memory_id: str) -> NotFoundError:
    return NotFoundError(f"no memory has the id {memory_id[:80]!r}; `recall` shows the ids of what is known")


def _victims(known: UserSnapshot, memory_id: str) -> list[str]:
    """Return the sort keys of what goes: the memory, its repetitions and, if it holds, its history and the guesses."""
    facts = {sk: memory.fact for sk, memory in known.by_key.items() if memory.fact is not None}
    named = {sk for sk, memory in known.by_key.items() if _is_named(memory, memory_id)}
    statements = {facts[sk].fingerprint for sk in named if sk in facts}
    current = {sk for sk in named if sk in facts and facts[sk].standing is Standing.CURRENT}
    victims = named | {sk for sk, fact in facts.items() if fact.fingerprint in statements}
    victims |= _history(known, current) | _guesses(facts, [facts[sk] for sk in current])
    # What holds goes last: as long as it is there, the rest is found again after an interruption.
    return sorted(victims, key=lambda sk: (sk in named, known.by_key[sk].kind is Kind.FACT, sk))


def _is_named(memory: StoredMemory, memory_id: str) -> bool:
    if memory.kind is Kind.PREFERENCE:
        return memory.id.casefold() == memory_id.casefold()
    return memory.id == memory_id


def _history(known: UserSnapshot, current: Collection[str]) -> set[str]:
    """Return the earlier versions. Releases up to 0.2 kept those of a topic together, without saying of which fact."""
    found = earlier_versions(known, current)
    for sk in current:
        beside = known.by_topic.get((known.by_key[sk].topic or "").casefold(), frozenset[str]())
        if not any(known.by_key[one].kind is Kind.FACT for one in beside - {sk}):
            found |= {one for one in beside & known.legacy if known.by_key[one].kind is Kind.PAST}
    return found


def _guesses(facts: Mapping[str, Fact], current: Sequence[Fact]) -> set[str]:
    """Return what was only guessed in the place of what goes."""
    possible = {sk: fact for sk, fact in facts.items() if fact.standing is Standing.CANDIDATE}
    return {
        sk
        for sk, guess in possible.items()
        for fact in current
        if same_topic(guess.topic, fact.topic) and is_update(guess.text, fact.text, fact.topic)
    }


def _marks(scope: Scope, victims: Sequence[StoredMemory], now: datetime) -> list[Put]:
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
