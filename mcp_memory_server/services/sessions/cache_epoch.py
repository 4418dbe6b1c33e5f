"""The epoch of the session cache: kept in the table, where every process can look it up.

Invariants:
1. A cached session is served only in the epoch in which it was filled.
2. A turn is written past the cache only after every process knows that the writer is disconnected: it announces that in
   the table and waits for `SNAPSHOT_LASTS`, which is how long any process may rely on its last snapshot of the epoch.
3. While any writer is disconnected nobody serves a cached session.
4. Setting or removing the entry of a disconnected writer begins a new epoch, so older cached sessions are never served.
5. The clocks of two machines are not compared. An entry is that of a dead writer if this process saw it unchanged for
   `DISCONNECTED_LASTS`, or if it ended so long ago that no clock is that wrong (`CLOCKS_DIFFER`).

6. All processes use the same cache server. The one in use is named in the table; one that finds itself at another
   server, after a failover, names that one, which begins a new epoch, and notes the earlier server as superseded. A
   process at a superseded server is disconnected: its writes do not reach the caches of the others (split brain). It
   may name its server again when nobody confirmed the one in use for `DISCONNECTED_LASTS`.

    connected --disconnect()--> announced --SNAPSHOT_LASTS--> writes past the cache
        ^                           |  heartbeat() every half of DISCONNECTED_LASTS  |
        +------------- reconnect(): entry removed, epoch + 1 -----------------------+
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from mcp_memory_server.domain.kernel.items import Item, Update
from mcp_memory_server.errors import CacheUnavailableError, ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.keys import COPIES_EPOCH

SNAPSHOT_LASTS = timedelta(seconds=5)
"""How long a process relies on a snapshot. A turn of a process that lost the session cache waits that long."""
LOOKED_AGAIN = timedelta(seconds=1)
"""How old a snapshot is when it is refreshed, if the table answers. Three times as long a cached session may lack what
was written at the other side of a split brain."""
DISCONNECTED_LASTS = timedelta(minutes=2)
"""An entry that is not renewed for this long is that of a process that died. It is renewed four times as often."""
CLOCKS_DIFFER = timedelta(hours=2)
"""Clocks of machines are assumed to differ by less."""

SUPERSEDED_KEPT = 8

_EPOCH = "epoch"
_SERVER, _SUPERSEDED, _CONFIRMED = "server", "superseded", "confirmed"
_DISCONNECTED = "away:"
_SNAPSHOT_SECONDS, _LOOKED_AGAIN_SECONDS = SNAPSHOT_LASTS.total_seconds(), LOOKED_AGAIN.total_seconds()

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class EpochSnapshot:
    """The epoch, and the disconnected writers with the end of each entry, as the table said at a monotonic time."""

    epoch: int
    disconnected: Mapping[str, int]
    asked_at: float

    @property
    def may_use_cache(self) -> bool:
        """Whether no process writes past the cache."""
        return not self.disconnected


class CacheEpoch:
    """The epoch of the session cache, and the connection of this process to it. Used from any thread and event loop."""

    def __init__(
        self,
        table: ItemTable,
        now: Callable[[], datetime],
        *,
        process: str,
        monotonic: Callable[[], float] = time.monotonic,
        wake: Callable[[], None] = lambda: None,
        ping: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        """``wake`` is called when the process is disconnected: a worker calls `heartbeat`, and later `reconnect`.

        ``ping`` returns which server of the session cache answers, or raises CacheUnavailableError.
        """
        self._table = table
        self._now = now
        self._entry = f"{_DISCONNECTED}{process}"
        self._monotonic = monotonic
        self._wake = wake
        self._lock = Lock()
        self._snapshot: EpochSnapshot | None = None
        self._ping = ping
        self._confirmed: tuple[int, float] | None = None  # by others, and since when this process has known that
        self._confirmed_at = float("-inf")
        self._seen: dict[str, tuple[int, float]] = {}  # entries of others, and since when they are as they are
        self._reading = False
        self._is_disconnected = False
        self._announced_at: float | None = None
        self._renewed_at = 0.0
        self._may_have_entry = False

    @property
    def is_disconnected(self) -> bool:
        """Whether this process cannot reach the session cache."""
        return self._is_disconnected

    @property
    def last_snapshot(self) -> EpochSnapshot | None:
        """The last snapshot, however old; None before the first one."""
        return self._snapshot

    @property
    def may_be_relied_on(self) -> bool:
        """Whether the last snapshot may still be used."""
        snapshot = self._snapshot
        return snapshot is not None and self._monotonic() - snapshot.asked_at < _SNAPSHOT_SECONDS

    def may_bypass_cache(self) -> bool:
        """Return whether by now every process knows that this one is disconnected."""
        announced_at = self._announced_at
        if announced_at is None:
            return False
        now = self._monotonic()
        # A process that slept for minutes may have been taken for dead.
        return (
            now - announced_at >= _SNAPSHOT_SECONDS and now - self._renewed_at < DISCONNECTED_LASTS.total_seconds() / 2
        )

    def fresh_snapshot(self) -> EpochSnapshot | None:
        """Return the last snapshot if it need not be refreshed soon; otherwise `read_snapshot` has to be asked."""
        snapshot = self._snapshot
        is_fresh = snapshot is not None and self._monotonic() - snapshot.asked_at < _LOOKED_AGAIN_SECONDS
        return snapshot if is_fresh else None

    async def read_snapshot(self) -> EpochSnapshot:
        """Return a snapshot that may be relied on now.

        Raises:
            UnavailableError: The last one is too old, and the table does not answer.
        """
        snapshot = self._snapshot
        if snapshot is None or (age := self._monotonic() - snapshot.asked_at) >= _SNAPSHOT_SECONDS:
            return await self.refresh()
        # One of the callers refreshes it in time, so that the others need not wait.
        if age >= _LOOKED_AGAIN_SECONDS and self._may_read():
            try:
                return await self.refresh()
            finally:
                self._reading = False
        return snapshot

    async def refresh(self) -> EpochSnapshot:
        """Ask the table, however recent the last snapshot is."""
        asked_at = self._monotonic()
        item, server = await asyncio.gather(self._table.get(COPIES_EPOCH), self._server())
        item = await self._without_dead_writers(item)
        if server is not None and (item is None or server != item.body.get(_SERVER)):
            item, is_in_use = await self._name_server(item, server)
            if not is_in_use:
                self.disconnect()
        elif item is not None and server is not None:
            item = await self._confirm(item)
        return self._take(item, asked_at)

    async def may_reconnect(self) -> bool:
        """Return whether the session cache answers, and is the server that the other processes use.

        Raises:
            CacheUnavailableError: It does not answer.
        """
        if self._ping is None:
            return True
        server, item = await self._ping(), await self._table.get(COPIES_EPOCH)
        if item is not None and server == item.body.get(_SERVER):
            return True
        return (await self._name_server(item, server))[1]

    def disconnect(self) -> None:
        """Set this process to disconnected. It writes nothing past the cache before `may_bypass_cache`."""
        if not self._is_disconnected:
            logger.warning("the session cache cannot be reached; sessions are read from the table")
        self._is_disconnected = True
        self._wake()

    async def heartbeat(self) -> None:
        """Announce that this process is disconnected. Never call this and `reconnect` at the same time."""
        if self._announced_at is None:
            await self._announce(Update(COPIES_EPOCH, add={_EPOCH: 1}, set={self._entry: self._until()}))
            self._announced_at = self._renewed_at
        elif self._monotonic() - self._renewed_at >= DISCONNECTED_LASTS.total_seconds() / 4:
            await self._announce(Update(COPIES_EPOCH, set={self._entry: self._until()}))

    async def reconnect(self) -> None:
        """Set this process to connected. If it had announced otherwise, a new epoch discards all cached sessions.

        A turn that it failed to put into the cache is in the outbox, and is recorded in the cache when it is delivered.
        """
        self._announced_at = None  # from here on nothing is written past the cache
        if self._may_have_entry:
            await self._announce(Update(COPIES_EPOCH, add={_EPOCH: 1}, remove=(self._entry,)))
            self._may_have_entry = False
        self._is_disconnected = False
        logger.warning("the session cache can be reached again")

    async def _server(self) -> str | None:
        """Return which server this process uses, None if it does not answer: whoever appends will notice."""
        if self._ping is None or self._is_disconnected:
            return None
        try:
            return await self._ping()
        except CacheUnavailableError:
            return None

    async def _name_server(self, item: Item | None, server: str) -> tuple[Item | None, bool]:
        """Name the server as the one in use; return the item then, and whether it is."""
        before = None if item is None else item.body.get(_SERVER)
        superseded = _superseded(item)
        if server in superseded and not self._is_given_up(item):
            return item, False
        later = [one for one in (before, *superseded) if isinstance(one, str) and one != server][:SUPERSEDED_KEPT]
        change = Update(
            COPIES_EPOCH,
            add={_EPOCH: 1} if before is not None else {},
            set={_SERVER: server, _SUPERSEDED: later, _CONFIRMED: int(self._now().timestamp())},
            expected_version=0 if item is None else item.version,
        )
        try:
            return await self._table.update(change), True
        except ConflictError:  # another process did the same, or announced something: the next look sees it
            item = await self._table.get(COPIES_EPOCH)
            return item, item is not None and item.body.get(_SERVER) == server

    def _is_given_up(self, item: Item | None) -> bool:
        """Return whether nobody confirmed the server in use for so long that all who used it must be gone."""
        confirmed, moment = None if item is None else item.body.get(_CONFIRMED), self._monotonic()
        if not isinstance(confirmed, int):
            return True
        if self._confirmed is None or self._confirmed[0] != confirmed:
            self._confirmed = (confirmed, moment)
        return moment - self._confirmed[1] >= DISCONNECTED_LASTS.total_seconds()

    async def _confirm(self, item: Item) -> Item:
        """Confirm the server in use now and then, where processes may be at another one."""
        moment = self._monotonic()
        if not _superseded(item) or moment - self._confirmed_at < DISCONNECTED_LASTS.total_seconds() / 4:
            return item
        self._confirmed_at = moment
        return await self._table.update(Update(COPIES_EPOCH, set={_CONFIRMED: int(self._now().timestamp())}))

    def _may_read(self) -> bool:
        with self._lock:
            if self._reading:
                return False
            self._reading = True
            return True

    async def _without_dead_writers(self, item: Item | None) -> Item | None:
        """Remove the entries of processes that died while they were disconnected. That begins a new epoch too."""
        dead = self._dead(_entries(item))
        if item is None or not dead:
            return item
        try:
            return await self._table.update(
                Update(COPIES_EPOCH, add={_EPOCH: 1}, remove=tuple(dead), expected_version=item.version)
            )
        except ConflictError:
            return await self._table.get(COPIES_EPOCH)

    def _dead(self, entries: Mapping[str, int]) -> list[str]:
        moment, long_ago = self._monotonic(), (self._now() - CLOCKS_DIFFER).timestamp()
        with self._lock:
            self._seen = {
                name: seen if (seen := self._seen.get(name)) is not None and seen[0] == until else (until, moment)
                for name, until in entries.items()
                if name != self._entry
            }
            return [
                name
                for name, (until, since) in self._seen.items()
                if until <= long_ago or moment - since >= DISCONNECTED_LASTS.total_seconds()
            ]

    async def _announce(self, change: Update) -> None:
        self._may_have_entry = True  # also if no answer comes
        asked_at = self._monotonic()
        item = await self._table.update(change)
        # Another process may have read the item just before this change, so the time counts from the answer.
        self._renewed_at = self._monotonic()
        self._take(item, asked_at)

    def _take(self, item: Item | None, asked_at: float) -> EpochSnapshot:
        epoch = None if item is None else item.body.get(_EPOCH)
        snapshot = EpochSnapshot(epoch if isinstance(epoch, int) else 0, _entries(item), asked_at)
        with self._lock:
            if self._snapshot is None or snapshot.epoch >= self._snapshot.epoch:
                self._snapshot = snapshot
            return self._snapshot

    def _until(self) -> int:
        return int((self._now() + DISCONNECTED_LASTS).timestamp())


def _superseded(item: Item | None) -> list[str]:
    found = None if item is None else item.body.get(_SUPERSEDED)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _entries(item: Item | None) -> dict[str, int]:
    if item is None:
        return {}
    return {
        name: until for name, until in item.body.items() if name.startswith(_DISCONNECTED) and isinstance(until, int)
    }
