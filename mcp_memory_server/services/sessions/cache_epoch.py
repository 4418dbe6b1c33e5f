"""Whether the copies of running sessions may be trusted: kept in the table, where every process can look it up.

A copy misses a turn when a process writes one to the table and cannot reach the session memory. Nobody else could tell.
So such a process first says in the table that it is away, and then waits: a look at the table is good for `LOOK_LASTS`,
after which every process knows, and serves no copy. Only then are turns written past the copies. When the process is
back it takes its mark away; that begins a new epoch, and copies of an earlier one are never served again. Every mark
that is set or taken away begins an epoch, so copies made before it are told apart from those made after it.
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

LOOK_LASTS = timedelta(seconds=5)
"""How long a process relies on what it saw. A turn of a process that lost the session memory waits that long."""
AWAY_LASTS = timedelta(minutes=2)
"""A mark that is not renewed for so long is that of a process which died. It is renewed four times as often."""

_EPOCH = "epoch"
_AWAY = "away:"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Look:
    """What the table said, and when it was asked."""

    epoch: int
    away: Mapping[str, int]
    asked_at: float

    @property
    def may_be_served(self) -> bool:
        """Whether nobody writes past the copies."""
        return not self.away


class CopyTrust:
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
        self._look: Look | None = None
        self._looking = False
        self._is_away = False
        self._left_at: float | None = None
        self._renewed_at = 0.0
        self._may_be_marked = False

    @property
    def is_away(self) -> bool:
        """Whether this process cannot reach the session memory."""
        return self._is_away

    @property
    def last_look(self) -> Look | None:
        """What was seen last, however long ago; None if there was no look yet."""
        return self._look

    def may_write_past_copies(self) -> bool:
        """Tell whether by now every process knows that this one is away."""
        left_at = self._left_at
        if left_at is None:
            return False
        now = self._monotonic()
        # A process that slept for minutes may have been taken for dead.
        return now - left_at >= LOOK_LASTS.total_seconds() and now - self._renewed_at < AWAY_LASTS.total_seconds() / 2

    async def look(self) -> Look:
        """Return what holds for the copies at this moment.

        Raises:
            UnavailableError: It is too long ago that the table could be asked.
        """
        look = self._look
        if look is None or (age := self._monotonic() - look.asked_at) >= LOOK_LASTS.total_seconds():
            return await self.look_again()
        # One of the callers looks again in time, so that the others need not.
        if age >= LOOK_LASTS.total_seconds() / 2 and self._may_look():
            try:
                return await self.look_again()
            finally:
                self._looking = False
        return look

    async def look_again(self) -> Look:
        """Ask the table, however short ago it was asked."""
        asked_at = self._monotonic()
        item = await self._table.get(COPIES_EPOCH)
        return self._seen(await self._without_the_dead(item), asked_at)

    def leave(self) -> None:
        """Note that this process cannot reach the session memory. It writes nothing past the copies before it may."""
        if not self._is_away:
            logger.warning("the session memory cannot be reached; sessions are read from the table")
        self._is_away = True
        self._wake()

    async def stay_away(self) -> None:
        """Tell everybody that this process is away, as long as it is. Of these two, one runs at a time."""
        if self._left_at is None:
            await self._say(Update(COPIES_EPOCH, add={_EPOCH: 1}, set={self._mark: self._until()}))
            self._left_at = self._renewed_at
        elif self._monotonic() - self._renewed_at >= AWAY_LASTS.total_seconds() / 4:
            await self._say(Update(COPIES_EPOCH, set={self._mark: self._until()}))

    async def come_back(self) -> None:
        """Note that this process updates copies again. If it told that it was away, all copies so far are doubtful.

        A turn that it failed to put into a copy is on its way to the table, and is put there when it arrives.
        """
        self._left_at = None  # from here on nothing is written past the copies
        if self._may_be_marked:
            await self._say(Update(COPIES_EPOCH, add={_EPOCH: 1}, remove=(self._mark,)))
            self._may_be_marked = False
        self._is_away = False
        logger.warning("the session memory can be reached again")

    def _may_look(self) -> bool:
        with self._lock:
            if self._looking:
                return False
            self._looking = True
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

    def _seen(self, item: Item | None, asked_at: float) -> Look:
        epoch = None if item is None else item.body.get(_EPOCH)
        look = Look(epoch if isinstance(epoch, int) else 0, _marks(item), asked_at)
        with self._lock:
            if self._look is None or look.epoch >= self._look.epoch:
                self._look = look
            return self._look

    def _until(self) -> int:
        return int((self._now() + AWAY_LASTS).timestamp())


def _marks(item: Item | None) -> dict[str, int]:
    if item is None:
        return {}
    return {name: until for name, until in item.body.items() if name.startswith(_AWAY) and isinstance(until, int)}
