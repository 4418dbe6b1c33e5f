"""Access counts: how often each memory was told, which makes it a little more likely to be told again."""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock

from mcp_memory_server.concurrency.event_loop_thread import EventLoopThread
from mcp_memory_server.domain.kernel.items import Item, Put, Update
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import MemoryServerError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.keys import access_key, profile_key

WRITTEN_AFTER_SECONDS = 60.0
USERS_KEPT = 10_000
COUNTED_AT_ONCE = 100
"""So many counts are raised with one write: an expression has its limits."""
MOST_COUNTS = 1_000
"""With more than that, all are halved and the small ones go: what is not told any more is not liked for ever."""
LONGEST_ID = 200
LIFE = timedelta(days=90)

_PREFIX = "n:"

logger = logging.getLogger(__name__)


@dataclass
class _Counts:
    known: Counter[str] = field(default_factory=Counter[str])
    new: Counter[str] = field(default_factory=Counter[str])
    is_read: bool = False


class AccessCounts:
    """Counts in memory and writes together, a write a user and minute at most. No answer waits for it.

    What was counted in the last minute before a process is killed is lost; it is a hint, not a memory.
    """

    def __init__(self, table: ItemTable, background: EventLoopThread, now: Callable[[], datetime]) -> None:
        self._table = table
        self._background = background
        self._now = now
        self._lock = Lock()
        self._users: OrderedDict[str, _Counts] = OrderedDict()
        self._is_running = False

    def of(self, scope: Scope) -> Mapping[str, int]:
        """Return how often memories were told, as far as that is at hand."""
        with self._lock:
            counts = self._counts(scope.user_id)
            if not counts.is_read:
                counts.is_read = True
                self._background.submit(lambda: self._read(scope))
            return counts.known

    def note(self, scope: Scope, ids: Collection[str]) -> None:
        """Count that these were told."""
        with self._lock:
            told = [one for one in ids if len(one.encode()) <= LONGEST_ID]
            counts = self._counts(scope.user_id)
            counts.new.update(told)
            counts.known.update(told)
            if not told or self._is_running:
                return
            self._is_running = True
        self._background.submit(self._write_later)

    async def write(self) -> None:
        """Write what was counted, one write for each user. What cannot be written now is let go."""
        with self._lock:
            new = {user_id: counts.new for user_id, counts in self._users.items() if counts.new}
            for user_id in new:
                self._users[user_id].new = Counter()
        for user_id, counts in new.items():
            try:
                await self._raise(Scope(user_id), counts)
            except MemoryServerError:
                logger.debug("access counts were not written", exc_info=True)

    async def _write_later(self) -> None:
        await asyncio.sleep(WRITTEN_AFTER_SECONDS)
        with self._lock:
            self._is_running = False
        await self.write()

    async def _raise(self, scope: Scope, counts: Counter[str]) -> None:
        if await self._table.get(profile_key(scope)) is None:
            return  # the user was erased since, and nothing is to be left
        add = {_PREFIX + one: times for one, times in counts.most_common(COUNTED_AT_ONCE)}
        item = await self._table.update(Update(access_key(scope), add=add, expires_at=self._now() + LIFE))
        known = _read_from(item)
        with self._lock:
            self._counts(scope.user_id).known = known
        if len(known) > MOST_COUNTS:
            await self._halve(item, known)

    async def _halve(self, item: Item, known: Counter[str]) -> None:
        body = {_PREFIX + one: times // 2 for one, times in known.most_common(MOST_COUNTS) if times > 1}
        with suppress(MemoryServerError):  # somebody else counts at this moment, and will see to it
            await self._table.put(Put(item.key, body, expected_version=item.version, expires_at=item.expires_at))

    async def _read(self, scope: Scope) -> None:
        with suppress(MemoryServerError):
            item = await self._table.get(access_key(scope))
            if item is not None:
                with self._lock:
                    counts = self._counts(scope.user_id)
                    counts.known = _read_from(item) + counts.new

    def _counts(self, user_id: str) -> _Counts:
        counts = self._users.setdefault(user_id, _Counts())
        self._users.move_to_end(user_id)
        for idle in list(_idle(self._users, len(self._users) - USERS_KEPT)):
            del self._users[idle]
        return counts


def _idle(users: Mapping[str, _Counts], excess: int) -> Iterable[str]:
    if excess <= 0:
        return ()
    return [user_id for user_id, counts in users.items() if not counts.new][:excess]


def _read_from(item: Item) -> Counter[str]:
    return Counter(
        {
            name.removeprefix(_PREFIX): int(times)
            for name, times in item.body.items()
            if name.startswith(_PREFIX) and isinstance(times, int | float)
        }
    )
