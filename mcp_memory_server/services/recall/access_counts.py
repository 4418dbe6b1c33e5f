"""Access counts: how often each memory was returned, which ranks it a little higher the next time."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock

from mcp_memory_server.concurrency.event_loop_thread import EventLoopThread
from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.kernel.items import Item, Put, Update
from mcp_memory_server.domain.kernel.log_labels import log_label
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import MemoryServerError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.keys import access_key, profile_key

WRITTEN_AFTER_SECONDS = 60.0
USERS_KEPT = 10_000
COUNTED_AT_ONCE = 100
"""So many counts are raised by one write: the length of an update expression is limited."""
MOST_COUNTS = 1_000
"""With more counts than this, all are halved and the small ones dropped, so that old preferences fade."""
LONGEST_ID = 200
LIFE = timedelta(days=90)

_PREFIX = "n:"

logger = logging.getLogger(__name__)


@dataclass
class _Counts:
    totals: Counter[str] = field(default_factory=Counter[str])
    """As read from the table, and raised here since."""
    new: Counter[str] = field(default_factory=Counter[str])
    """Not written yet."""
    is_read: bool = False


class AccessCounts:
    """Counts in memory, and writes once per user and minute at most. No answer waits for it.

    They count what was returned to a user, whatever it belongs to: reading from a team changes nothing there.

    The counts of the last minute are lost when the process is killed: they only influence the ranking.
    """

    def __init__(self, table: ItemTable, background: EventLoopThread, now: Callable[[], datetime]) -> None:
        self._table = table
        self._background = background
        self._now = now
        self._lock = Lock()
        self._users = LruCache[str, _Counts](USERS_KEPT, may_evict=lambda counts: not counts.new)
        self._is_running = False

    def of(self, scope: Scope) -> Mapping[str, int]:
        """Return how often memories were returned; nothing until the counts are read, in the background."""
        with self._lock:
            counts = self._counts(scope.user_id)
            if not counts.is_read:
                counts.is_read = True
                self._background.submit(lambda: self._read(scope))
            return counts.totals

    def note(self, scope: Scope, ids: Collection[str]) -> None:
        """Count that these memories were returned."""
        with self._lock:
            returned = [one for one in ids if len(one.encode()) <= LONGEST_ID]
            counts = self._counts(scope.user_id)
            counts.new.update(returned)
            counts.totals.update(returned)
            if not returned or self._is_running:
                return
            self._is_running = True
        self._background.submit(self._write_later)

    async def write(self) -> None:
        """Write the new counts, one write per user. What cannot be written now is dropped."""
        with self._lock:
            counted = [(user_id, counts) for user_id, counts in self._users.items() if counts.new]
            new = [(Scope(user_id), counts.new) for user_id, counts in counted]
            for _, counts in counted:
                counts.new = Counter()
        for scope, counts in new:
            try:
                await self._raise(scope, counts)
            except MemoryServerError:
                logger.debug("%s: access counts were not written", log_label(scope), exc_info=True)

    async def _write_later(self) -> None:
        await asyncio.sleep(WRITTEN_AFTER_SECONDS)
        with self._lock:
            self._is_running = False
        await self.write()

    async def _raise(self, scope: Scope, counts: Counter[str]) -> None:
        if await self._table.get(profile_key(scope.personal)) is None:
            return  # the user was erased since, and nothing may be stored
        add = {_PREFIX + one: times for one, times in counts.most_common(COUNTED_AT_ONCE)}
        item = await self._table.update(Update(access_key(scope), add=add, expires_at=self._now() + LIFE))
        totals = _read_from(item)
        with self._lock:
            self._counts(scope.user_id).totals = totals
        if len(totals) > MOST_COUNTS:
            await self._halve(item, totals)

    async def _halve(self, item: Item, totals: Counter[str]) -> None:
        body = {_PREFIX + one: times // 2 for one, times in totals.most_common(MOST_COUNTS) if times > 1}
        with suppress(MemoryServerError):  # another process counts at this moment, and halves them
            await self._table.put(Put(item.key, body, expected_version=item.version, expires_at=item.expires_at))

    async def _read(self, scope: Scope) -> None:
        with suppress(MemoryServerError):
            item = await self._table.get(access_key(scope))
            if item is not None:
                with self._lock:
                    counts = self._counts(scope.user_id)
                    counts.totals = _read_from(item) + counts.new

    def _counts(self, user_id: str) -> _Counts:
        return self._users.get_or_add(user_id, _Counts)


def _read_from(item: Item) -> Counter[str]:
    return Counter(
        {
            name.removeprefix(_PREFIX): int(times)
            for name, times in item.body.items()
            if name.startswith(_PREFIX) and isinstance(times, int | float)
        }
    )
