"""What is known of each user, kept in memory and compared with the table's stamp before every use."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from uuid import uuid4

from mcp_memory_server.domain.items import Item, Update
from mcp_memory_server.domain.memories import (
    Known,
    KnownMemory,
    from_fact,
    from_note,
    from_preference,
    from_summary,
)
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.errors import MemoryServerError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import fact_from, note_from, preference_from
from mcp_memory_server.schema.summary_records import summary_from

USERS_KEPT = 200

STAMP = "stamp"
MARK = "mark"


def raise_stamp(scope: Scope) -> Update:
    """Return the write that tells every process that something of this user has changed."""
    # After a user is erased the counter starts again; the mark never recurs.
    return Update(keys.profile_key(scope), add={STAMP: 1}, set={MARK: uuid4().hex})


class KnownMemories:
    """The memories of the users seen last. Shared by the services that read, from any event loop."""

    def __init__(self, table: ItemTable) -> None:
        self._table = table
        self._kept: OrderedDict[str, Known] = OrderedDict()
        self._lock = Lock()

    async def of(self, scope: Scope) -> Known:
        """Return everything that is known of the user now: what was acknowledged anywhere before this call is in it."""
        profile = await self._table.get(keys.profile_key(scope))
        # The stamp is read before the memories: they may be newer than it says, never older.
        stamp = None if profile is None else (profile.body.get(STAMP), profile.body.get(MARK))
        kept = self._recall(scope.user_id)
        if kept is not None and kept.stamp == stamp:
            return kept
        known = await self._load(scope, stamp)
        self._keep(scope.user_id, known)
        return known

    async def past(self, scope: Scope) -> Known:
        """Return what held once and no longer does."""
        page = await self._table.query(keys.user_partition(scope.user_id), prefix=keys.PAST_FACTS, limit=None)
        return _known(None, page.items)

    async def _load(self, scope: Scope, stamp: object) -> Known:
        partition = keys.user_partition(scope.user_id)
        pages = await asyncio.gather(
            *(self._table.query(partition, between=stretch, limit=None) for stretch in keys.KNOWN_STRETCHES)
        )
        items = [item for page in pages for item in page.items if not item.key.sk.startswith(keys.NO_MEMORIES)]
        return _known(stamp, items)

    def _recall(self, user_id: str) -> Known | None:
        with self._lock:
            if user_id in self._kept:
                self._kept.move_to_end(user_id)
            return self._kept.get(user_id)

    def _keep(self, user_id: str, known: Known) -> None:
        with self._lock:
            self._kept[user_id] = known
            self._kept.move_to_end(user_id)
            while len(self._kept) > USERS_KEPT:
                self._kept.popitem(last=False)


def _known(stamp: object, items: Sequence[Item]) -> Known:
    read = [memory_from(item) for item in items]
    readable = [memory for memory in read if memory is not None]
    return Known(stamp, readable, unreadable=len(read) - len(readable))


def memory_from(item: Item) -> KnownMemory | None:
    """Return the memory that the item holds, None if it cannot be read."""
    try:
        if item.key.sk.startswith(keys.PREFERENCES):
            return from_preference(preference_from(item))
        if item.key.sk.startswith(keys.NOTES):
            return from_note(note_from(item))
        if item.key.sk.startswith(keys.SUMMARIES):
            return from_summary(summary_from(item))
        return from_fact(fact_from(item))
    except MemoryServerError:
        return None  # counted as unreadable, and told to whoever asks
