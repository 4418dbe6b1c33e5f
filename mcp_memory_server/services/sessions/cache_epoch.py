"""The epoch of the session cache: kept in the table, where every process can look it up.

Invariants:
1. A cached session is served only in the epoch in which it was filled.
2. A turn is written past the cache only after every process knows that the writer is disconnected: it announces that in
   the table and waits for `SNAPSHOT_LASTS`, which is how long any process may rely on its last snapshot of the epoch.
3. While any writer is disconnected nobody serves a cached session.
4. Setting or removing the entry of a disconnected writer begins a new epoch, so older cached sessions are never served.

    connected --disconnect()--> announced --SNAPSHOT_LASTS--> writes past the cache
        ^                           |  heartbeat() every half of DISCONNECTED_LASTS  |
        +------------- reconnect(): entry removed, epoch + 1 -----------------------+
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from mcp_memory_server.domain.kernel.items import Item, Update
from mcp_memory_server.errors import ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.keys import COPIES_EPOCH

SNAPSHOT_LASTS = timedelta(seconds=5)
"""How long a process relies on what it saw. A turn of a process that lost the session memory waits that long."""
DISCONNECTED_LASTS = timedelta(minutes=2)
"""A mark that is not renewed for so long is that of a process which died. It is renewed four times as often."""

_EPOCH = "epoch"
_AWAY = "away:"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class EpochSnapshot:
    """What the table said, and when it was asked."""

    epoch: int
    away: Mapping[str, int]
    asked_at: float

    @property
    def may_be_served(self) -> bool:
        """Whether nobody writes past the copies."""
        return not self.away


class CacheEpoch:
    """The epoch of the copies, and this process's own presence. Used from any thread and any event loop."""

    def __init__(
        self,
        table: ItemTable,
        now: Callable[[], datetime],
        *,
        process: str,
        monotonic: Callable[[], float] = time.monotonic,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        """``wake`` is called when the process is away: somebody has to tell, and to find out when that is over."""
        self._table = table
        self._now = now
        self._mark = f"{_AWAY}{process}"
        self._monotonic = monotonic
        self._wake = wake
        self._lock = Lock()
        self._snapshot: EpochSnapshot | None = None
        self._reading = False
        self._is_disconnected = False
        self._left_at: float | None = None
        self._renewed_at = 0.0
        self._may_be_marked = False

    @property
    def is_disconnected(self) -> bool:
        """Whether this process cannot reach the session memory."""
        return self._is_disconnected

    @property
    def last_snapshot(self) -> EpochSnapshot | None:
        """What was seen last, however long ago; None if there was no look yet."""
        return self._snapshot

    def may_bypass_cache(self) -> bool:
        """Tell whether by now every process knows that this one is away."""
        left_at = self._left_at
        if left_at is None:
            return False
        now = self._monotonic()
        # A process that slept for minutes may have been taken for dead.
        return (
            now - left_at >= SNAPSHOT_LASTS.total_seconds()
            and now - self._renewed_at < DISCONNECTED_LASTS.total_seconds() / 2
        )

    async def read_snapshot(self) -> EpochSnapshot:
        """Return what holds for the copies at this moment.

        Raises:
            UnavailableError: It is too long ago that the table could be asked.
        """
        snapshot = self._snapshot
        if snapshot is None or (age := self._monotonic() - snapshot.asked_at) >= SNAPSHOT_LASTS.total_seconds():
            return await self.refresh()
        # One of the callers looks again in time, so that the others need not.
        if age >= SNAPSHOT_LASTS.total_seconds() / 2 and self._may_read():
            try:
                return await self.refresh()
            finally:
                self._reading = False
        return snapshot

    async def refresh(self) -> EpochSnapshot:
        """Ask the table, however short ago it was asked."""
        asked_at = self._monotonic()
        item = await self._table.get(COPIES_EPOCH)
        return self._seen(await self._without_the_dead(item), asked_at)

    def disconnect(self) -> None:
        """Note that this process cannot reach the session memory. It writes nothing past the copies before it may."""
        if not self._is_disconnected:
            logger.warning("the session memory cannot be reached; sessions are read from the table")
        self._is_disconnected = True
        self._wake()

    async def heartbeat(self) -> None:
        """Tell everybody that this process is away, as long as it is. Of these two, one runs at a time."""
        if self._left_at is None:
            await self._say(Update(COPIES_EPOCH, add={_EPOCH: 1}, set={self._mark: self._until()}))
            self._left_at = self._renewed_at
        elif self._monotonic() - self._renewed_at >= DISCONNECTED_LASTS.total_seconds() / 4:
            await self._say(Update(COPIES_EPOCH, set={self._mark: self._until()}))

    async def reconnect(self) -> None:
        """Note that this process updates copies again. If it told that it was away, all copies so far are doubtful.

        A turn that it failed to put into a copy is on its way to the table, and is put there when it arrives.
        """
        self._left_at = None  # from here on nothing is written past the copies
        if self._may_be_marked:
            await self._say(Update(COPIES_EPOCH, add={_EPOCH: 1}, remove=(self._mark,)))
            self._may_be_marked = False
        self._is_disconnected = False
        logger.warning("the session memory can be reached again")

    def _may_read(self) -> bool:
        with self._lock:
            if self._reading:
                return False
            self._reading = True
            return True

    async def _without_the_dead(self, item: Item | None) -> Item | None:
        """Take away the marks of processes that died while they were away. That begins an epoch too."""
        dead = [name for name, until in _marks(item).items() if until <= self._now().timestamp() and name != self._mark]
        if item is None or not dead:
            return item
        try:
            return await self._table.update(
                Update(COPIES_EPOCH, add={_EPOCH: 1}, remove=tuple(dead), expected_version=item.version)
            )
        except ConflictError:
            return await self._table.get(COPIES_EPOCH)

    async def _say(self, change: Update) -> None:
        self._may_be_marked = True  # also if no answer comes
        asked_at = self._monotonic()
        item = await self._table.update(change)
        # Whoever looked just before the mark was set relies on that from then on, so this counts from the answer.
        self._renewed_at = self._monotonic()
        self._seen(item, asked_at)

    def _seen(self, item: Item | None, asked_at: float) -> EpochSnapshot:
        epoch = None if item is None else item.body.get(_EPOCH)
        snapshot = EpochSnapshot(epoch if isinstance(epoch, int) else 0, _marks(item), asked_at)
        with self._lock:
            if self._snapshot is None or snapshot.epoch >= self._snapshot.epoch:
                self._snapshot = snapshot
            return self._snapshot

    def _until(self) -> int:
        return int((self._now() + DISCONNECTED_LASTS).timestamp())


def _marks(item: Item | None) -> dict[str, int]:
    if item is None:
        return {}
    return {name: until for name, until in item.body.items() if name.startswith(_AWAY) and isinstance(until, int)}
