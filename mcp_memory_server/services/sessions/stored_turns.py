"""The turns of sessions in the table: each stored once and counted exactly, in several partitions if it is hot."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import uuid4

from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.kernel.items import Item, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.count_writes import Counted, Deferred, Uncounted, UnknownOutcome, Wait
from mcp_memory_server.domain.sessions.counts import Line
from mcp_memory_server.domain.sessions.hot_sessions import Pace, possible_partitions
from mcp_memory_server.domain.sessions.pending_counts import PendingCounts
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import View
from mcp_memory_server.errors import (
    ConflictError,
    InvalidRequestError,
    TableThrottledError,
    TableUnavailableError,
    UnavailableError,
)
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metrics import Metrics, NoMetrics
from mcp_memory_server.schema.erased_users import erased_before, erased_user_key
from mcp_memory_server.schema.turn_records import (
    TURNS,
    Written,
    line_from,
    line_of,
    operation_of,
    parts_of,
    session_partition,
    turn_key,
    written,
)
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.sessions.session_activity import ActivityPublisher, LocalWrites
from mcp_memory_server.services.sessions.turn_counters import TurnCounters
from mcp_memory_server.services.sessions.turn_pages import TurnPage, TurnPages

__all__ = ["StoredTurns", "TableTimeout", "TurnPage"]

SESSIONS_KNOWN = 10_000
COUNTED_SESSIONS_AT_ONCE = 20
PUT_WITHIN = timedelta(seconds=1)
"""A turn that is older when it is put may have been put before, by a process that knew other partitions."""
MOST_AT_ONCE = 9
"""The table writes ten items at once, and the counters are one of them."""
TIMEOUT_SECONDS = 1.0
REST_SECONDS = 1.0
"""How long the table is not asked again after it did not answer in time."""

R = TypeVar("R")


class TableTimeout:
    """Limits how long an append waits for the table: not at all when the table did not answer a moment ago.

    Without an outbox to fall back to, the table gets all the time that its adapter allows.
    """

    def __init__(self, *, has_outbox: bool, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._has_outbox = has_outbox
        self._monotonic = monotonic
        self._rests_until = float("-inf")

    async def ask(self, question: Callable[[], Awaitable[R]]) -> R:
        """Return the answer.

        Raises:
            UnavailableError: There was none in time, or the table was not asked because there was none a moment ago.
        """
        if not self._has_outbox:
            return await question()
        if self._monotonic() < self._rests_until:
            raise TableUnavailableError("the table did not answer a moment ago")
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await question()
        except (TimeoutError, UnavailableError) as error:
            self._rests_until = self._monotonic() + REST_SECONDS
            if isinstance(error, UnavailableError):
                raise
            raise TableUnavailableError(f"the table did not answer within {TIMEOUT_SECONDS:g} s") from error


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
        local_writes: LocalWrites | None = None,
        metrics: Metrics | None = None,
        embeddings: Embeddings | None = None,
    ) -> None:
        """``wake`` is called when there is something to count; a partition takes ``hot_rate`` turns in a second."""
        self._table = table
        self._now = now
        self._wake = wake
        self._hot_rate = hot_rate
        self._monotonic = monotonic
        names = itertools.count(1)
        local_writes = local_writes or LocalWrites()
        self._new_name = lambda: f"{local_writes.writer}.{next(names)}"
        self._counters = TurnCounters(table, now, monotonic, metrics or NoMetrics())
        self._activity = ActivityPublisher(table, local_writes, monotonic=monotonic)
        # Without a model, nothing is stored beside a turn.
        self._embeddings = None if embeddings is None or embeddings.model is None else embeddings
        self._pages = TurnPages(table)
        # A session with counts left is not evicted. The watermark of an evicted one stays until it is abandoned.
        self._pending = LruCache[Scope, PendingCounts](SESSIONS_KNOWN, may_evict=PendingCounts.is_idle)

    async def last(
        self, scope: Scope, turns: int, view: View, *, since: str | None = None, most_bytes: int | None = None
    ) -> TurnPage:
        """Return the last turns with everything that is counted, however long the session is.

        One query does for a session that was never hot, unless other processes write to it faster than they count.
        Partitions that do not answer are left out, which the page says. With ``since``, the page names every turn
        after that id.

        Raises:
            UnavailableError: The first partition, which has the counters, did not answer.
        """
        pending = self._pending.get_or_add(scope, self._new_pending)
        expected = pending.writer
        page, counters = await self._pages.last(scope, turns, view, pending.known(), since=since, most_bytes=most_bytes)
        pending.learn(counters, expected=expected)
        if pending.observe(counters, self._now(), self._monotonic()):
            self._wake()  # until the turns of a dead writer are counted, every load reads them
        return page

    async def before(
        self, scope: Scope, cursor: str, turns: int, view: View, *, most_bytes: int | None = None
    ) -> TurnPage:
        """Return the turns before a cursor, which is valid in every partition. Nothing is counted exactly here."""
        page, _ = await self._pages.before(scope, cursor, turns, view, most_bytes=most_bytes)
        return page

    async def recent(self, scope: Scope, turns: int) -> Mapping[str, str]:
        """Return the operations of the last turns, with the ids of their turns.

        Raises:
            UnavailableError: Not every partition answered.
        """
        pending = self._pending.get_or_add(scope, self._new_pending)
        expected = pending.writer
        operations, counters = await self._pages.recent(scope, turns)
        pending.learn(counters, expected=expected)
        return operations

    async def put(self, write: TurnWrite, *, again: bool = False) -> None:
        """Store a turn. The same turn of the same operation is stored once, whichever process repeats it.

        ``again`` says that another process may have put it before. An old turn is taken for one that was.

        Raises:
            ConflictError: Another operation has this id.
            TableUnavailableError: The turn may have been stored, or not: repeat the call.
        """
        scope, turn, now = write.scope, write.turn, self._now()
        pending = self._pending.get_or_add(scope, self._new_pending)
        if pending.is_getting_hot(self._monotonic()):
            await self._counters.split(scope, pending)
        try:
            is_old = again or now - turn.at > PUT_WITHIN
            if not (is_old and await self._is_stored(write, pending)):
                await self._put(write, pending, now)
            await self._activity.publish_turn(scope, turn, self._now())
        except TableThrottledError:
            if pending.may_split(self._monotonic()):
                await self._counters.split(scope, pending)
            raise

    async def put_all(self, writes: Sequence[TurnWrite]) -> None:
        """Store new turns of one session, at most `MOST_AT_ONCE` with rising ids, in one write if that is possible.

        Raises:
            ConflictError: One of the ids is taken, perhaps by a repetition. The last turns are not stored.
            TableUnavailableError: The turns may have been stored, or not: repeat the call with `put`.
        """
        scope, now = writes[0].scope, self._now()
        pending = self._pending.get_or_add(scope, self._new_pending)
        is_plain = len(writes) <= MOST_AT_ONCE and not pending.is_getting_hot(self._monotonic())
        items = [await self._items(write, now) for write in writes] if is_plain else []
        together = items if not any(one.parts for one in items) else []
        way = pending.begin_all([one.turn.id for one in writes], now, self._monotonic()) if together else None
        if way is None:
            for write in writes:
                await self.put(write)
            return
        await self._put_together(scope, writes, together, way, pending)
        for write in writes:
            await self._activity.publish_turn(scope, write.turn, self._now())

    async def erased_before(self, user_id: str) -> datetime:
        """Return up to when everything of the user was erased: what was queued by then must not be stored.

        Raises:
            UnavailableError: The table did not answer.
        """
        return erased_before(await self._table.get(erased_user_key(user_id)))

    async def take_back(self, writes: Sequence[TurnWrite]) -> None:
        """Remove turns that were stored although their user was erased meanwhile, and the counters of their session."""
        scope = writes[0].scope
        self._pending.pop(scope)  # or its counts would be written
        pages = [await self._table.query(session_partition(scope), limit=None, attributes=("parts",))]
        partitions = [parts for page in pages for item in page.items if (parts := parts_of(item)) is not None]
        pages += [await self._table.query(partition, limit=None, attributes=()) for partition in partitions]
        own = {turn_key(scope, write.turn.id) for write in writes}
        turns = [item.key for item in pages[0].items if item.key.sk.startswith(TURNS)]
        # A session that has only such turns goes as a whole.
        gone = [item.key for page in pages for item in page.items] if own.issuperset(turns) else list(own)
        await self._table.delete_many(gone)

    async def finish_session(self, scope: Scope) -> None:
        """Publish that this process writes no more turns to the session for now."""
        await self._activity.finish_session(scope)

    async def end(self, scope: Scope, ended_at: datetime, operation_id: str) -> None:
        """Store when the session was ended. A later turn continues it: readers compare the times."""
        await self._counters.end(scope, ended_at, operation_id)

    async def raise_partitions(self, scope: Scope, to: int) -> int:
        """Raise the number of partitions to this, at most 64, and return how many there are. They are never reduced."""
        return await self._counters.raise_partitions(scope, self._pending.get_or_add(scope, self._new_pending), to)

    def uncounted(self) -> bool:
        """Return whether there are turns to count."""
        return any(pending.has_work() for _, pending in self._pending.items())

    async def write_counts(self, *, all_of_them: bool = False) -> None:
        """Write the counts that are due, one write per session; or all, and then remove the watermarks as well.

        Raises:
            UnavailableError: Some could not be written now. A later call writes them.
        """
        moment = self._monotonic()
        due = [(scope, pending) for scope, pending in self._pending.items() if all_of_them or pending.is_due(moment)]
        due.sort(key=lambda one: not one[1].has_work())
        errors: list[BaseException] = []
        for first in range(0, len(due), COUNTED_SESSIONS_AT_ONCE):
            some = due[first : first + COUNTED_SESSIONS_AT_ONCE]
            writes = (self._counters.write(scope, pending, last=all_of_them) for scope, pending in some)
            outcomes = await asyncio.gather(*writes, return_exceptions=True)
            errors += [outcome for outcome in outcomes if outcome is not None]
        if errors:
            raise errors[0]

    async def _is_stored(self, write: TurnWrite, pending: PendingCounts) -> bool:
        """Look in every partition where another process may have put the turn."""
        scope, turn_id = write.scope, write.turn.id
        counters = await self._counters.read(scope)
        pending.learn(counters)
        if counters.partitions == 1:
            return False
        keys = {
            turn_key(scope, turn_id, number): number for number in possible_partitions(turn_id, counters.partitions)
        }
        found = await self._table.get_many(keys)
        for key, item in found.items():
            self._recognise(item, write, pending, keys[key])
        return bool(found)

    async def _items(self, write: TurnWrite, now: datetime) -> Written:
        scope, turn = write.scope, write.turn
        beside = None if self._embeddings is None else await self._embeddings.beside_turn(scope, turn.content)
        return written(scope, turn, now, operation=write.operation_id, beside=beside)

    async def _put_together(
        self,
        scope: Scope,
        writes: Sequence[TurnWrite],
        items: Sequence[Written],
        way: Deferred | Counted,
        pending: PendingCounts,
    ) -> None:
        writer = way.writer if isinstance(way, Deferred) else None
        puts, turns = [one.turn_in(0, writer) for one in items], [write.turn for write in writes]
        try:
            if isinstance(way, Counted):
                await self._put_counted(scope, puts, [line_of(turn) for turn in turns], way, pending)
                return
            await self._table.write(puts, operation_id=uuid4().hex)
        except (ConflictError, InvalidRequestError):
            for turn in turns:
                pending.is_settled(turn.id)
            raise
        except BaseException:
            unknown = UnknownOutcome(0, self._monotonic(), isinstance(way, Deferred))
            for turn in turns:
                pending.has_unknown_outcome(turn.id, unknown)
            raise
        for turn in turns:
            if pending.has_landed(turn.id, Uncounted(turn.token_count, 0, self._monotonic()), way.writer):
                self._wake()

    async def _put(self, write: TurnWrite, pending: PendingCounts, now: datetime) -> None:
        scope, turn = write.scope, write.turn
        items = await self._items(write, now)
        for part in items.parts:
            await self._table.put(part, operation_id=write.operation_id)
        way = pending.begin(turn.id, self._now(), self._monotonic())
        while isinstance(way, Wait):
            await asyncio.shield(asyncio.wrap_future(way.over))
            way = pending.begin(turn.id, self._now(), self._monotonic(), has_waited=True)
        writer = way.writer if isinstance(way, Deferred) else None
        put = items.turn_in(way.partition, writer)
        try:
            try:
                if isinstance(way, Counted):
                    await self._put_counted(scope, [put], [line_of(turn)], way, pending)
                else:
                    await self._table.put(put, operation_id=uuid4().hex)
                    uncounted = Uncounted(turn.token_count, way.partition, self._monotonic())
                    if pending.has_landed(turn.id, uncounted, way.writer):
                        self._wake()
            except ConflictError:
                self._recognise(await self._table.get(put.key), write, pending, way.partition)
        except (ConflictError, InvalidRequestError):
            pending.is_settled(turn.id)
            raise
        except BaseException:
            unknown = UnknownOutcome(way.partition, self._monotonic(), isinstance(way, Deferred))
            pending.has_unknown_outcome(turn.id, unknown)
            raise

    async def _put_counted(
        self, scope: Scope, puts: Sequence[Put], lines: Sequence[Line], way: Counted, pending: PendingCounts
    ) -> None:
        if way.opens is None:
            await self._counters.count_with(scope, puts, lines)
        else:
            await self._counters.open_with(scope, puts, lines, way.opens, pending)
            self._wake()  # closing removes the watermark, also if no turn follows
        for line in lines:
            pending.is_settled(line.id)

    def _recognise(self, item: Item | None, write: TurnWrite, pending: PendingCounts, partition: int) -> None:
        """Accept the stored turn if it is the one that was to be put.

        Raises:
            ConflictError: It is another one.
        """
        if item is None or operation_of(item) != write.operation_id:
            raise ConflictError("another turn has this id")
        line = line_from(item)
        if line.writer is None:
            pending.is_settled(line.id)
        else:
            uncounted = Uncounted(line.tokens, partition, self._monotonic())
            if pending.has_landed(line.id, uncounted, line.writer):
                self._wake()

    def _new_pending(self) -> PendingCounts:
        return PendingCounts(self._new_name, Pace(self._hot_rate))
