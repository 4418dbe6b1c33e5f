"""Forgetting: one memory so that it is not learned again, or a user so that nothing is left."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from mcp_memory_server.domain.facts import Standing, Tombstone
from mcp_memory_server.domain.items import Delete, Key, Put, Write
from mcp_memory_server.domain.memories import Known, KnownMemory, from_fact
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.errors import NotFoundError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import fact_from, tombstone_body
from mcp_memory_server.services.known_memories import KnownMemories, raise_stamp

T = TypeVar("T")

FORGOTTEN_AT_ONCE = 10
ERASED_AT_ONCE = 500


@dataclass(frozen=True)
class Forgotten:
    """How many stored items went: the memory itself, its repetitions and its earlier versions."""

    id: str
    removed: int


class Erasure:
    """Takes memories away for good."""

    def __init__(self, table: ItemTable, known: KnownMemories, now: Callable[[], datetime]) -> None:
        self._table = table
        self._known = known
        self._now = now

    async def forget(self, scope: Scope, memory_id: str) -> Forgotten:
        """Forget a memory. A fact goes with its repetitions, its earlier versions and what was only guessed beside it.

        What is left of a fact is a fingerprint, by which it is not learned again from old text.

        Raises:
            NotFoundError: There is no memory with this id.
        """
        victims = _victims(await self._known.of(scope), await self._past(scope), memory_id)
        if not victims:
            raise NotFoundError(f"no memory has the id {memory_id!r}; `recall` shows the ids of what is known")
        for some in _chunks(victims, FORGOTTEN_AT_ONCE):
            await self._table.write(_forget(scope, some, self._now()))
        await self._table.scrub()
        return Forgotten(memory_id, len(victims))

    async def forget_user(self, scope: Scope, progress: Callable[[int], None] = lambda _: None) -> int:
        """Remove everything of the user, marks of forgotten things included, and return how many items that were."""
        partition, removed = keys.user_partition(scope.user_id), 0
        while items := (await self._table.query(partition, limit=ERASED_AT_ONCE, attributes=())).items:
            await self._table.delete_many([item.key for item in items])
            removed += len(items)
            progress(removed)
        await self._table.scrub()
        return removed

    async def _past(self, scope: Scope) -> list[KnownMemory]:
        page = await self._table.query(keys.user_partition(scope.user_id), prefix=keys.PAST_FACTS, limit=None)
        return [from_fact(fact_from(item)) for item in page.items]


def _victims(known: Known, past: Sequence[KnownMemory], memory_id: str) -> list[KnownMemory]:
    stored = [*known.rows, *past]
    named = [memory for memory in stored if memory.id == memory_id]
    statements = {memory.fact.fingerprint for memory in named if memory.fact}
    topics = {memory.topic for memory in named if memory.fact and memory.fact.standing is Standing.CURRENT} - {None}
    return [
        memory
        for memory in stored
        if memory in named or (memory.fact and (memory.fact.fingerprint in statements or memory.topic in topics))
    ]


def _forget(scope: Scope, victims: Sequence[KnownMemory], now: datetime) -> list[Write]:
    tombstones = {memory.fact.fingerprint for memory in victims if memory.fact}
    removed: list[Key] = [keys.memory_key(scope, memory) for memory in victims]
    marks = (
        Put(keys.tombstone_key(scope, fingerprint), tombstone_body(Tombstone(fingerprint, now)))
        for fingerprint in sorted(tombstones)
    )
    return [raise_stamp(scope), *(Delete(key) for key in dict.fromkeys(removed)), *marks]


def _chunks(entries: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (entries[start : start + size] for start in range(0, len(entries), size))
