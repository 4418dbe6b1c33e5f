"""The turns of one session that this process wrote and has yet to count. See `counts` for the protocol.

Invariants, beside those of `counts`:

1. At most one opening of a watermark is in progress; other turns wait for it, and count themselves if it fails.
2. At most one write of the counters is in progress (`begin_writing`).
3. A turn is in exactly one of these states, and only *uncounted* turns are ever added to the counters here.

    begin --Deferred--> being written --landed--> uncounted --counters written--> counted
              |             |  no answer                       ^
              |             v                                  | found in the table
              |         unknown outcome --LANDED_AFTER: look---+--not there, or counted--> settled
              +--Counted: one write stores and counts it------------------------------> settled
"""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from datetime import datetime
from threading import Lock

from mcp_memory_server.domain.sessions.count_writes import (
    Counted,
    Deferred,
    Plan,
    Uncounted,
    UnknownOutcome,
    Wait,
    Way,
)
from mcp_memory_server.domain.sessions.counts import (
    USED_FOR,
    Amount,
    Counters,
    KnownCounts,
    Line,
    ObservedWatermarks,
    Watermark,
    abandoned,
    amount_of,
)
from mcp_memory_server.domain.sessions.hot_sessions import Pace, partition_of

COUNTED_AFTER_SECONDS = 30.0
COUNTED_AT_ONCE = 100
LANDED_AFTER_SECONDS = 30.0
"""After this time a write without an answer has happened or never will: no deadline is half as long."""
QUIET_AFTER_SECONDS = 300.0
MOST_UNUSED = 100
"""Further unused watermarks, which only a long outage leaves, are removed by other processes as abandoned."""


class PendingCounts:
    """The state of one session. Used from any thread: it changes before anything is sent to the table."""

    def __init__(self, new_name: Callable[[], str], pace: Pace) -> None:
        self._new_name = new_name
        self._pace = pace
        self._lock = Lock()
        self._writer: str | None = None
        self._floor = ""
        self._confirmed: datetime | None = None
        self._opening: Future[None] | None = None
        self._is_closing = False
        self._may_be_closed = False
        self._is_being_written = False
        self._partitions = 1
        self._counters: Counters | None = None
        self._being_written: set[str] = set()
        self._uncounted: dict[str, Uncounted] = {}
        self._unknown: dict[str, UnknownOutcome] = {}
        self._unused: set[str] = set()
        self._used = float("-inf")
        self._observed = ObservedWatermarks()
        self._has_abandoned = False

    @property
    def writer(self) -> str | None:
        """The writer of deferred turns now, None without a watermark."""
        return self._writer

    @property
    def counters(self) -> Counters | None:
        """The counters as they were last read, None if they are known to have changed since."""
        return self._counters

    @property
    def partitions(self) -> int:
        """The number of partitions as last read: there may be more."""
        return self._partitions

    # Putting a turn.

    def begin(self, turn_id: str, now: datetime, moment: float, *, has_waited: bool = False) -> Way:
        """Return how this turn is to be written."""
        with self._lock:
            self._used = moment
            is_fresh = self._is_fresh(now)
            if not is_fresh:
                self._give_up_old_writer()
            unknown = self._unknown.get(turn_id)
            partition = 0 if unknown is None else unknown.partition
            if self._writer is None:
                return self._count_at_once(partition, has_waited=has_waited)
            if turn_id <= self._floor or self._is_closing or not is_fresh:
                return Counted(partition)
            self._being_written.add(turn_id)
            return Deferred(self._writer, partition_of(turn_id, self._partitions) if unknown is None else partition)

    def begin_all(self, turn_ids: Sequence[str], now: datetime, moment: float) -> Deferred | Counted | None:
        """Return how these turns are to be written at once, in rising order; None if one has to follow the other.

        Until the first of them has landed or is settled, the watermark does not pass any of them.
        """
        with self._lock:
            if self._partitions > 1 or self._opening is not None or any(one in self._unknown for one in turn_ids):
                return None
        way = self.begin(turn_ids[0], now, moment)
        if isinstance(way, Deferred) and way.partition:  # partitions were added since
            self.is_settled(turn_ids[0])
            return None
        if isinstance(way, Deferred):
            with self._lock:
                self._being_written.update(turn_ids)
        return None if isinstance(way, Wait) else way

    def has_landed(self, turn_id: str, uncounted: Uncounted, writer: str) -> bool:
        """Note that the turn is in the table under this writer; return whether a worker has to count."""
        with self._lock:
            self._end(turn_id)
            if writer != self._writer or turn_id <= self._floor:
                return False
            before = len(self._uncounted)
            self._uncounted.setdefault(turn_id, uncounted)
            return before == 0 or len(self._uncounted) == COUNTED_AT_ONCE

    def is_settled(self, turn_id: str) -> None:
        """Note that this turn needs no counting here."""
        with self._lock:
            self._end(turn_id)

    def has_unknown_outcome(self, turn_id: str, unknown: UnknownOutcome) -> None:
        """Note that the write of the turn got no answer."""
        with self._lock:
            self._being_written.discard(turn_id)
            self._unknown.setdefault(turn_id, unknown)

    def plan_to_open(self, writer: str, turns: Sequence[Line], counters: Counters, now: datetime) -> Plan:
        """Return how to count these turns and to make the writer's watermark over these counters."""
        with self._lock:
            unused = frozenset(self._unused & set(counters.watermarks))
        watermark = Watermark(max(turn.id for turn in turns), now)
        return Plan(amount_of(turns), unused, {writer: watermark}, counters.partitions)

    def has_opened(self, writer: str, watermark: Watermark, counters: Counters) -> None:
        """Note that the watermark is in the table, with these counters."""
        with self._lock:
            self._writer, self._floor, self._confirmed = writer, watermark.upto, watermark.at
            self._counters, self._partitions = counters, counters.partitions
            self._unused &= set(counters.watermarks)
            self._end_opening()

    def has_not_opened(self, writer: str, *, perhaps: bool) -> None:
        """Note that the watermark was not opened; or ``perhaps`` was, although no turn depends on it."""
        with self._lock:
            if perhaps and len(self._unused) < MOST_UNUSED:
                self._unused.add(writer)
            self._end_opening()

    # Reading the counters.

    def known(self) -> KnownCounts:
        """Return the uncounted turns of this process, so that a reader need not read them in order to count."""
        with self._lock:
            if self._writer is None or any(unknown.is_deferred for unknown in self._unknown.values()):
                return KnownCounts(frozenset(self._unused))
            lines = (Line(id_, one.tokens, self._writer) for id_, one in self._uncounted.items())
            return KnownCounts(frozenset({*self._unused, self._writer}), tuple(lines))

    def learn(self, counters: Counters, *, expected: str | None = None) -> None:
        """Take note of the counters. ``expected`` is the writer whose watermark was there before they were read."""
        with self._lock:
            self._counters = counters
            self._partitions = max(self._partitions, counters.partitions)
            # Only an erased session misses it. The next turn makes a new one.
            missing = expected is not None and expected == self._writer and expected not in counters.watermarks
            if missing and not self._is_closing and self._is_idle():
                self._writer, self._partitions = None, counters.partitions

    def observe(self, counters: Counters, now: datetime, moment: float) -> bool:
        """Note the watermarks of others; return whether there are new ones that their writers have abandoned."""
        with self._lock:
            self._observed.observe(counters, moment)
            before, self._has_abandoned = self._has_abandoned, bool(self._abandoned(counters, now, moment))
            return self._has_abandoned and not before

    def abandoned(self, counters: Counters, now: datetime, moment: float) -> dict[str, Watermark]:
        """Return the watermarks of others whose turns any process may count by now."""
        with self._lock:
            return self._abandoned(counters, now, moment)

    def is_getting_hot(self, moment: float) -> bool:
        """Note that a turn is written, and return whether the session needs more partitions."""
        with self._lock:
            self._pace.wrote(moment)
            return self._pace.takes_more(self._partitions, moment)

    def is_hot(self, moment: float) -> bool:
        """Return whether the session needs more partitions, after what was last counted."""
        with self._lock:
            return self._pace.takes_more(self._partitions, moment)

    def may_split(self, moment: float) -> bool:
        """Return whether the partitions were not raised in the last second; it counts as if they were now."""
        with self._lock:
            return self._pace.split(moment)

    # Counting.

    def has_work(self) -> bool:
        """Return whether there is anything to count."""
        with self._lock:
            return bool(self._uncounted or self._unknown or self._is_closing)

    def has_watermarks(self) -> bool:
        """Return whether a watermark of this process is in the counters, or will be, or an abandoned one of another."""
        with self._lock:
            return self._has_abandoned or self._writer is not None or bool(self._unused or self._unknown)

    def is_due(self, moment: float) -> bool:
        """Return whether it is time to count."""
        with self._lock:
            if (
                self._has_abandoned
                or self._is_closing
                or len(self._uncounted) >= COUNTED_AT_ONCE
                or self._is_quiet(moment)
            ):
                return True
            oldest = next(iter(self._uncounted.values()), None)
            return (oldest is not None and moment - oldest.since >= COUNTED_AFTER_SECONDS) or bool(
                self._old_unknown_outcomes(moment)
            )

    def is_idle(self) -> bool:
        """Return whether this state can be discarded without losing counts."""
        with self._lock:
            return self._is_idle() and not (self._is_closing or self._opening or self._is_being_written)

    def begin_writing(self) -> bool:
        """Return whether the caller may write the counters; it then calls `end_writing`."""
        with self._lock:
            if self._is_being_written:
                return False
            self._is_being_written = True
            return True

    def end_writing(self) -> None:
        """Let the next caller write the counters."""
        with self._lock:
            self._is_being_written = False

    def old_unknown_outcomes(self, moment: float) -> dict[str, UnknownOutcome]:
        """Return the turns whose outcome can be read from the table by now."""
        with self._lock:
            return self._old_unknown_outcomes(moment)

    def misses_watermark(self, counters: Counters) -> bool:
        """Return whether the watermark that the pending counts depend on is missing."""
        with self._lock:
            return self._writer is not None and self._writer not in counters.watermarks

    def may_restore_watermark(self, now: datetime) -> bool:
        """Return whether a missing watermark was erased with the session. Otherwise it was removed after counting."""
        with self._lock:
            return self._is_fresh(now) and not self._may_be_closed

    def uncounted(self) -> dict[str, Uncounted]:
        """Return the uncounted turns."""
        with self._lock:
            return dict(self._uncounted)

    def keep_only(self, turn_ids: Collection[str]) -> None:
        """Discard all uncounted turns but these."""
        with self._lock:
            self._uncounted = {id_: one for id_, one in self._uncounted.items() if id_ in turn_ids}

    def drop_watermark(self) -> None:
        """Discard the watermark and its uncounted turns."""
        with self._lock:
            self._close()

    def plan(self, counters: Counters, now: datetime, moment: float, *, last: bool = False) -> Plan | None:
        """Return the change to these counters, None for none. ``last`` removes the watermark too, if possible."""
        with self._lock:
            unused = frozenset(self._unused & set(counters.watermarks))
            if self._writer is None:
                return Plan(Amount(), unused, {}, counters.partitions) if unused else None
            if (seen := counters.watermarks.get(self._writer)) is not None:
                self._count_up_to(seen.upto)
            held = min(self._in_flight(), default=None)
            ready = {id_: one for id_, one in self._uncounted.items() if held is None or id_ < held}
            self._is_closing = self._is_closing or (held is None and (last or self._is_quiet(moment)))
            if not ready and not self._is_closing and seen is not None:
                return None
            self._floor = max([self._floor, *ready])
            return Plan(
                Amount(len(ready), sum(one.tokens for one in ready.values())),
                unused | ({self._writer} if self._is_closing else frozenset[str]()),
                {} if self._is_closing else {self._writer: Watermark(self._floor, now)},
                max(self._partitions, counters.partitions),
            )

    def was_refused(self) -> None:
        """Note that the plan was refused because the counters have changed."""
        with self._lock:
            self._is_closing = self._may_be_closed
            self._counters = None

    def got_no_answer(self) -> None:
        """Note that the plan got no answer. A watermark that it removes may be removed."""
        with self._lock:
            self._may_be_closed = self._is_closing

    def has_written(self, plan: Plan, counters: Counters, moment: float) -> None:
        """Note that the plan was carried out, with the counters afterwards."""
        with self._lock:
            self._counters = counters
            self._has_abandoned = False
            self._partitions = max(self._partitions, counters.partitions)
            self._pace.saw(counters.turns, moment)
            self._unused -= plan.removed
            if self._writer in plan.removed:
                self._close()
            elif self._writer is not None and self._writer in plan.set:
                self._confirmed = plan.set[self._writer].at
                self._count_up_to(plan.set[self._writer].upto)

    def _in_flight(self) -> set[str]:
        return self._being_written | {id_ for id_, unknown in self._unknown.items() if unknown.is_deferred}

    def _count_at_once(self, partition: int, *, has_waited: bool) -> Way:
        if self._opening is not None:
            return Counted(partition) if has_waited else Wait(self._opening)
        if has_waited:  # opening failed; the counters may be out of reach
            return Counted(partition)
        self._opening = Future()
        return Counted(partition, opens=self._new_name())

    def _give_up_old_writer(self) -> None:
        if self._writer is not None and self._is_idle() and not self._is_closing:
            self._unused.add(self._writer)
            self._writer = None

    def _is_fresh(self, now: datetime) -> bool:
        # A clock that was set back must not make it last longer.
        return self._confirmed is not None and abs(now - self._confirmed) < USED_FOR

    def _abandoned(self, counters: Counters, now: datetime, moment: float) -> dict[str, Watermark]:
        return {
            **abandoned(counters, now, self._writer),
            **self._observed.unchanged(counters, moment, self._writer),
        }

    def _is_idle(self) -> bool:
        return not (self._being_written or self._uncounted or self._unknown)

    def _is_quiet(self, moment: float) -> bool:
        return self._writer is not None and self._is_idle() and moment - self._used >= QUIET_AFTER_SECONDS

    def _old_unknown_outcomes(self, moment: float) -> dict[str, UnknownOutcome]:
        return {id_: one for id_, one in self._unknown.items() if moment - one.since >= LANDED_AFTER_SECONDS}

    def _end(self, turn_id: str) -> None:
        self._being_written.discard(turn_id)
        self._unknown.pop(turn_id, None)

    def _end_opening(self) -> None:
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.set_result(None)

    def _close(self) -> None:
        self._writer, self._is_closing, self._may_be_closed = None, False, False
        self._uncounted.clear()

    def _count_up_to(self, upto: str) -> None:
        self._floor = max(self._floor, upto)
        self._uncounted = {id_: one for id_, one in self._uncounted.items() if id_ > upto}
