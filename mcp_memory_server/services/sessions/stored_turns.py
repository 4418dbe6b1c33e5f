"""The turns of conversations in the table: each kept once, counted exactly, over several partitions where it is hot."""

import asyncio
import itertools
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.kernel.item_checks import check_operation_id
from mcp_memory_server.domain.kernel.items import Item, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.hot_sessions import Pace, possible_partitions
from mcp_memory_server.domain.sessions.turns import Turn, View
from mcp_memory_server.errors import ConflictError, InvalidRequestError, TableThrottledError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metrics import Metrics, NoMetrics
from mcp_memory_server.schema.turn_records import (
    WRITER,
    line_from,
    line_of,
    operation_of,
    turn_key,
    written,
)
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.sessions.activity_publisher import ActivityPublisher
from mcp_memory_server.services.sessions.local_writes import LocalWrites
from mcp_memory_server.services.sessions.pending_counts import (
    Counted,
    Deferred,
    PendingCounts,
    Uncounted,
    UnknownOutcome,
    Wait,
)
from mcp_memory_server.services.sessions.turn_counters import TurnCounters
from mcp_memory_server.services.sessions.turn_pages import TurnPage, TurnPages

__all__ = ["StoredTurns", "TurnPage"]

SESSIONS_KNOWN = 10_000
WRITTEN_AT_ONCE = 20
PUT_WITHIN = timedelta(seconds=1)
"""A turn that is older when it is put may have been put before, by someone who knew other partitions."""


class StoredTurns:
    """The turns of sessions in the table. Used from any thread and any event loop."""

    def __init__(
        self,
        table: ItemTable,
        now: Callable[[], datetime],
        *,
        wake: Callable[[], None] = lambda: None,
        hot_rate: int = 500,
        monotonic: Callable[[], float] = time.monotonic,
        own: LocalWrites | None = None,
        metrics: Metrics | None = None,
        embeddings: Embeddings | None = None,
    ) -> None:
        """``wake`` is called when there is something to count; ``hot_rate`` is what a partition takes in a second."""
        self._table = table
        self._now = now
        self._wake = wake
        self._hot_rate = hot_rate
        self._monotonic = monotonic
        names = itertools.count(1)
        own = own or LocalWrites()
        self._new_name = lambda: f"{own.writer}.{next(names)}"
        self._counters = TurnCounters(table, now, monotonic, metrics or NoMetrics())
        self._activity = ActivityPublisher(table, now, own, monotonic=monotonic)
        self._embeddings = embeddings or Embeddings()
        self._pages = TurnPages(table)
        # One that has counts left stays. The mark of one that is evicted stays in the table, and anybody may remove it.
        self._pending = LruCache[Scope, PendingCounts](SESSIONS_KNOWN, may_evict=PendingCounts.is_idle)

    async def last(self, scope: Scope, turns: int, view: View) -> TurnPage:
        """Return the last turns with everything that is counted, however long the session is.

        One query does for a session that was never hot, unless other processes write to it faster than they count.
        Partitions that do not answer are left out, and the page tells so.

        Raises:
            UnavailableError: The first partition, which has the counters, did not answer.
        """
        pending = self._pending_of(scope)
        expected = pending.writer
        page, counters = await self._pages.last(scope, turns, view, pending.known())
        pending.learn(counters, expected=expected)
        return page

    async def before(self, scope: Scope, cursor: str, turns: int, view: View) -> TurnPage:
        """Return the turns before a cursor, which is valid in every partition. Nothing is counted exactly here."""
        page, _ = await self._pages.before(scope, cursor, turns, view)
        return page

    async def recent(self, scope: Scope, turns: int) -> Mapping[str, str]:
        """Return the operations of the last turns, with the ids of their turns.

        Raises:
            UnavailableError: Not every partition answered.
        """
        pending = self._pending_of(scope)
        expected = pending.writer
        operations, counters = await self._pages.recent(scope, turns)
        pending.learn(counters, expected=expected)
        return operations

    async def put(self, scope: Scope, turn: Turn, operation_id: str, *, again: bool = False) -> None:
        """Keep a turn. The same turn of the same operation is kept once, whoever repeats it.

        Say so if it may have been put before (``again``) by another process. An old turn is taken for one that was.

        Raises:
            ConflictError: Another operation has this id.
            TableUnavailableError: It may have been kept, or not: repeat it.
        """
        check_operation_id(operation_id)
        pending = self._pending_of(scope)
        if pending.is_getting_hot(self._monotonic()):
            await self._counters.split(scope, pending)
        try:
            is_old = again or self._now() - turn.at > PUT_WITHIN
            if not (is_old and await self._is_there(scope, turn, operation_id, pending)):
                beside = await self._embeddings.beside_turn(scope, turn.content)
                items = written(scope, turn, self._now(), operation=operation_id, beside=beside)
                for part in items.parts:
                    await self._table.put(part, operation_id=operation_id)
                await self._put(scope, turn, items.turn, operation_id, pending)
            await self._activity.after_writing(scope, turn)
        except TableThrottledError:
            if pending.may_split(self._monotonic()):
                await self._counters.split(scope, pending)
            raise

    async def rest(self, scope: Scope) -> None:
        """Tell those who search that nothing more is put into the session, for the time being."""
        await self._activity.over(scope)

    async def end(self, scope: Scope, ended_at: datetime, operation_id: str) -> None:
        """Note when the session was ended. A later turn makes it go on: readers compare."""
        await self._counters.end(scope, ended_at, operation_id)

    async def raise_partitions(self, scope: Scope, to: int) -> int:
        """Make sure that there are so many partitions, at most 64, and return how many there are. Never fewer."""
        return await self._counters.raise_partitions(scope, self._pending_of(scope), to)

    def uncounted(self) -> bool:
        """Tell whether there is anything to count."""
        return any(pending.has_work() for _, pending in self._pending.items())

    async def write_counts(self, *, all_of_them: bool = False) -> None:
        """Count what is due, one write for each session; or all of it, which leaves nothing of this process behind.

        Raises:
            UnavailableError: Some could not be written now. Nothing is lost by that.
        """
        moment = self._monotonic()
        due = [(scope, pending) for scope, pending in self._pending.items() if all_of_them or pending.is_due(moment)]
        due.sort(key=lambda one: not one[1].has_work())
        errors: list[BaseException] = []
        for first in range(0, len(due), WRITTEN_AT_ONCE):
            some = due[first : first + WRITTEN_AT_ONCE]
            writes = (self._counters.write(scope, pending, last=all_of_them) for scope, pending in some)
            outcomes = await asyncio.gather(*writes, return_exceptions=True)
            errors += [outcome for outcome in outcomes if outcome is not None]
        if errors:
            raise errors[0]

    async def _is_there(self, scope: Scope, turn: Turn, operation: str, pending: PendingCounts) -> bool:
        """Look in every place where others may have put the turn."""
        counters = await self._counters.read(scope)
        pending.learn(counters)
        if counters.partitions == 1:
            return False
        numbers = possible_partitions(turn.id, counters.partitions)
        keys = {turn_key(scope, turn.id, number): number for number in numbers}
        found = await self._table.get_many(keys)
        for key, item in found.items():
            self._recognise(item, operation, pending, keys[key])
        return bool(found)

    async def _put(self, scope: Scope, turn: Turn, put: Put, operation: str, pending: PendingCounts) -> None:
        way = pending.begin(turn.id, self._now(), self._monotonic())
        while isinstance(way, Wait):
            await asyncio.shield(asyncio.wrap_future(way.over))
            way = pending.begin(turn.id, self._now(), self._monotonic(), has_waited=True)
        put = replace(put, key=turn_key(scope, turn.id, way.partition))
        with self._unknown_outcome(turn.id, way, pending):
            try:
                await self._write(scope, turn, put, way, pending)
            except ConflictError:
                self._recognise(await self._table.get(put.key), operation, pending, way.partition)

    async def _write(self, scope: Scope, turn: Turn, put: Put, way: Deferred | Counted, pending: PendingCounts) -> None:
        line = line_of(turn)
        if isinstance(way, Deferred):
            await self._table.put(replace(put, body={**put.body, WRITER: way.writer}), operation_id=uuid4().hex)
            self._has_landed(turn.id, Uncounted(line.tokens, way.partition, self._monotonic()), way.writer, pending)
            return
        if way.opens is None:
            await self._counters.count_with(scope, put, line)
        else:
            await self._counters.open_with(scope, put, line, way.opens, pending)
        pending.is_settled(turn.id)

    @contextmanager
    def _unknown_outcome(self, turn_id: str, way: Deferred | Counted, pending: PendingCounts) -> Generator[None]:
        """Note what is known of the turn when its write ends in an error."""
        try:
            yield
        except (ConflictError, InvalidRequestError):
            pending.is_settled(turn_id)
            raise
        except BaseException:
            pending.has_unknown_outcome(
                turn_id, UnknownOutcome(way.partition, self._monotonic(), isinstance(way, Deferred))
            )
            raise

    def _recognise(self, item: Item | None, operation: str, pending: PendingCounts, partition: int) -> None:
        """Accept the turn that lies there already, if it is the one that was to be put.

        Raises:
            ConflictError: It is another one.
        """
        if item is None or operation_of(item) != operation:
            raise ConflictError("another turn has this id")
        line = line_from(item)
        if line.writer is None:
            pending.is_settled(line.id)
        else:
            self._has_landed(line.id, Uncounted(line.tokens, partition, self._monotonic()), line.writer, pending)

    def _has_landed(self, turn_id: str, uncounted: Uncounted, writer: str, pending: PendingCounts) -> None:
        if pending.has_landed(turn_id, uncounted, writer):
            self._wake()

    def _pending_of(self, scope: Scope) -> PendingCounts:
        return self._pending.get_or_add(scope, lambda: PendingCounts(self._new_name, Pace(self._hot_rate)))
