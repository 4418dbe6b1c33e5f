"""Read the facts that a statement may affect: from the cached snapshot or, for a user not in memory, by index."""

import asyncio
from collections import deque
from collections.abc import Sequence

from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.facts.fact import Source, Statement
from mcp_memory_server.domain.kernel.items import Item, Key
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.recall.memories import UserSnapshot
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import fact_from
from mcp_memory_server.services.facts.fact_writes import MOST_COMPARED
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache

TOPIC = "topic"
"""The name by which a statement replaces whatever is current under its topic."""
OWN_WRITES_KEPT, TOPICS_KEPT = 20, 10_000
"""So many own writes are remembered for each of so many topics."""
LONGEST_ID = 64
ATTEMPTS_BY_INDEX = 3


class RelatedFacts:
    """Reads a snapshot of the user; for a user not in memory, only the items that a statement may affect."""

    def __init__(self, table: ItemTable, snapshots: UserMemoryCache) -> None:
        self._table = table
        self._snapshots = snapshots
        self._own_writes = LruCache[str, deque[Key]](TOPICS_KEPT)

    def note_own_write(self, scope: Scope, topic: str | None, key: Key) -> None:
        """Remember a write of this process under a topic, because the index may not list it yet."""
        if topic is None:
            return
        self._own_writes.get_or_add(keys.topic_index(scope, topic), lambda: deque(maxlen=OWN_WRITES_KEPT)).append(key)

    async def of(
        self, scope: Scope, statement: Statement | None, named: Sequence[str], attempt: int = 0
    ) -> tuple[UserSnapshot, int]:
        """Return a snapshot that suffices for the statement and the named facts, and the version of the user's profile
        item.

        Found by index, it may miss what another process wrote a moment ago: then both facts stay current. After several
        attempts with conflicts, everything is read.
        """
        if not self._snapshots.holds(scope) and attempt < ATTEMPTS_BY_INDEX:
            found = await self._read_by_index(scope, statement, [name for name in named if name != TOPIC])
            if found is not None and not (TOPIC in named and found[2]):
                return found[:2]
        return await self._snapshots.exactly(scope)

    async def _read_by_index(
        self, scope: Scope, statement: Statement | None, ids: Sequence[str]
    ) -> tuple[UserSnapshot, int, bool] | None:
        """Return the snapshot, the version, and whether the topic has more facts; None if everything has to be read."""
        if any(len(one) > LONGEST_ID for one in ids):
            return None
        statements = [*ids, *([] if statement is None else [statement.fingerprint])]
        profile = await self._table.get(keys.profile_key(scope))
        items, has_legacy = await asyncio.gather(
            self._table.get_many([key for one in statements for key in _places(scope, one)]), self._has_legacy(scope)
        )
        if has_legacy:
            return None  # a fact of an earlier release may be stored under any topic
        stored = {item.key.sk for item in items.values()}
        if any(stored.isdisjoint({keys.fact_place(one), keys.possible_fact_place(one)}) for one in ids):
            return None
        found, has_more = list(items.values()), False
        if statement is not None:
            topics = (fact_from(items[key]).topic for one in ids for key in _places(scope, one)[:2] if key in items)
            topic = statement.topic or next((topic for topic in topics if topic is not None), None)
            (under_topic, has_more), past = await asyncio.gather(
                self._under_topic(scope, topic), self._history(scope, statement)
            )
            found += [*under_topic, *past]
        version = 0 if profile is None else profile.version
        return self._snapshots.read({item.key: item for item in found}.values()), version, has_more

    async def _under_topic(self, scope: Scope, topic: str | None) -> tuple[list[Item], bool]:
        if topic is None:
            return [], False
        page = await self._table.find(keys.topic_index(scope, topic), descending=True, limit=MOST_COMPARED)
        own = self._own_writes.get(keys.topic_index(scope, topic)) or ()
        wanted = {*page.keys, *own}
        if not wanted:
            return [], False
        return list((await self._table.get_many(wanted)).values()), page.cursor is not None

    async def _has_legacy(self, scope: Scope) -> bool:
        partition = keys.partition_of(scope)
        queries = (
            self._table.query(partition, between=key_range, limit=1, attributes=())
            for key_range in keys.LEGACY_KEY_RANGES
        )
        return any(page.items for page in await asyncio.gather(*queries))

    async def _history(self, scope: Scope, statement: Statement) -> Sequence[Item]:
        """Return the past versions of the same statement, if they matter."""
        if statement.source is not Source.INFERRED and statement.said_at is None:
            return ()
        prefix = keys.past_facts_prefix(keys.fact_place(statement.fingerprint))
        page = await self._table.query(keys.partition_of(scope), prefix=prefix, limit=None)
        return page.items


def _places(scope: Scope, fingerprint: str) -> list[Key]:
    """Return the keys under which a statement may be stored: current, candidate, forgotten."""
    return [
        keys.fact_key(scope, fingerprint),
        keys.possible_fact_key(scope, fingerprint),
        keys.tombstone_key(scope, fingerprint),
    ]
