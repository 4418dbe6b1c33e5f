"""What a process knows of the turns that it wrote to one session and has yet to count. See `counts` for the rule."""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Lock
from typing import TypeAlias

from mcp_memory_server.domain.sessions.counts import USED_FOR, Amount, Counters, KnownCounts, Line, Watermark
from mcp_memory_server.domain.sessions.hot_sessions import Pace, partition_of

COUNTED_AFTER_SECONDS = 30.0
COUNTED_AT_ONCE = 100
LANDED_AFTER_SECONDS = 30.0
"""After so long, a write that was given up has happened or never will: no deadline and no socket waits half of it."""
QUIET_AFTER_SECONDS = 300.0
MOST_UNUSED = 100
"""Marks beyond that, which only a long outage leaves, are taken away by others."""


@dataclass(frozen=True)
class Deferred:
    """The turn is one small write. It is counted later, under this writer's mark."""

    writer: str
    partition: int


@dataclass(frozen=True)
class Counted:
    """The turn is written together with its count; and with a new mark, if this names one."""

    partition: int
    opens: str | None = None


@dataclass(frozen=True)
class Wait:
    """Someone is making a mark. Ask again when that is over."""

    over: "Future[None]"


Way: TypeAlias = Deferred | Counted | Wait


@dataclass(frozen=True)
class Uncounted:
    """A turn that is surely in the table, and not in the counters."""

    tokens: int
    partition: int
    since: float


@dataclass(frozen=True)
class UnknownOutcome:
    """Where a turn was put without an answer. It is put there again, so that it cannot be in two places.

    If it ``is_deferred`` and landed, it is uncounted: the mark must not pass over it.
    """

    partition: int
    since: float
    is_deferred: bool


@dataclass(frozen=True)
class Plan:
    """How to change the counters: what to add, which marks to take away, and the one to set."""

    amount: Amount
    removed: frozenset[str]
    set: Mapping[str, Watermark]
    partitions: int

    def applied_to(self, counters: Counters) -> Counters:
        """Return what the counters are afterwards."""
        kept = {name: mark for name, mark in counters.marks.items() if name not in self.removed}
        return replace(
            counters,
            version=counters.version + 1,
            turns=counters.turns + self.amount.turns,
            tokens=counters.tokens + self.amount.tokens,
            marks={**kept, **self.set},
            partitions=self.partitions,
        )


class PendingCounts:
    """Used from any thread. What a method decides holds at once, before anything is sent to the table."""

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
        self._flying: set[str] = set()
        self._uncounted: dict[str, Uncounted] = {}
        self._unknown: dict[str, UnknownOutcome] = {}
        self._unused: set[str] = set()
        self._used = float("-inf")

    @property
    def writer(self) -> str | None:
        """The name under which turns are written now, None without a mark."""
        return self._writer

    @property
    def counters(self) -> Counters | None:
        """The counters as they were last seen, None if they are known to have changed since."""
        return self._counters

    @property
    def partitions(self) -> int:
        """How many partitions surely are in use: there may be more."""
        return self._partitions

    # Putting a turn.

    def begin(self, turn_id: str, now: datetime, moment: float, *, has_waited: bool = False) -> Way:
        """Return how this turn is to be written."""
        with self._lock:
            self._used = moment
            self._let_go_of_an_old_mark(now)
            doubt = self._unknown.get(turn_id)
            partition = 0 if doubt is None else doubt.partition
            if self._writer is None:
                return self._without_a_mark(partition, has_waited=has_waited)
            if turn_id <= self._floor or self._is_closing or not self._is_fresh(now):
                return Counted(partition)
            self._flying.add(turn_id)
            return Deferred(self._writer, partition_of(turn_id, self._partitions) if doubt is None else partition)

    def has_landed(self, turn_id: str, uncounted: Uncounted, writer: str) -> bool:
        """Note that the turn is in the table under this writer; tell whether there is something to count now."""
        with self._lock:
            self._end(turn_id)
            if writer != self._writer or turn_id <= self._floor:
                return False
            before = len(self._uncounted)
            self._uncounted.setdefault(turn_id, uncounted)
            return before == 0 or len(self._uncounted) == COUNTED_AT_ONCE

    def is_settled(self, turn_id: str) -> None:
        """Note that nothing of this turn is left to count here."""
        with self._lock:
            self._end(turn_id)

    def has_unknown_outcome(self, turn_id: str, doubt: UnknownOutcome) -> None:
        """Note that nobody knows whether the turn was written."""
        with self._lock:
            self._flying.discard(turn_id)
            self._unknown.setdefault(turn_id, doubt)

    def plan_to_open(self, writer: str, turn: Line, counters: Counters, now: datetime) -> Plan:
        """Return how to count this turn and to make the writer's mark over these counters."""
        with self._lock:
            unused = frozenset(self._unused & set(counters.marks))
        return Plan(Amount(1, turn.tokens), unused, {writer: Watermark(turn.id, now)}, counters.partitions)

    def has_opened(self, writer: str, mark: Watermark, counters: Counters) -> None:
        """Note that the mark is in the table, with these counters."""
        with self._lock:
            self._writer, self._floor, self._confirmed = writer, mark.upto, mark.at
            self._counters, self._partitions = counters, counters.partitions
            self._unused &= set(counters.marks)
            self._end_opening()

    def has_not_opened(self, writer: str, *, perhaps: bool) -> None:
        """Note that there is no such mark; or perhaps there is, and nothing depends on it."""
        with self._lock:
            if perhaps and len(self._unused) < MOST_UNUSED:
                self._unused.add(writer)
            self._end_opening()

    # Telling and learning.

    def known(self) -> KnownCounts:
        """Return what the process knows of its own turns by now, so that it need not read them in order to count."""
        with self._lock:
            if self._writer is None or any(doubt.is_deferred for doubt in self._unknown.values()):
                return KnownCounts(frozenset(self._unused))
            lines = (Line(id_, one.tokens, self._writer) for id_, one in self._uncounted.items())
            return KnownCounts(frozenset({*self._unused, self._writer}), tuple(lines))

    def learn(self, counters: Counters, *, expected: str | None = None) -> None:
        """Take note of the counters. ``expected`` is the writer whose mark was there before they were read."""
        with self._lock:
            self._counters = counters
            self._partitions = max(self._partitions, counters.partitions)
            # Only an erased session misses it. The next turn makes a new one.
            missing = expected is not None and expected == self._writer and expected not in counters.marks
            if missing and not self._is_closing and self._is_idle():
                self._writer, self._partitions = None, counters.partitions

    def is_getting_hot(self, moment: float) -> bool:
        """Note that a turn is written, and tell whether the session needs more partitions."""
        with self._lock:
            self._pace.wrote(moment)
            return self._pace.takes_more(self._partitions, moment)

    def is_hot(self, moment: float) -> bool:
        """Tell whether the session needs more partitions, after what was last counted."""
        with self._lock:
            return self._pace.takes_more(self._partitions, moment)

    def may_split(self, moment: float) -> bool:
        """Tell whether the partitions were not raised in the last second; it counts as if they were now."""
        with self._lock:
            return self._pace.split(moment)

    # Counting.

    def has_work(self) -> bool:
        """Tell whether there is anything to count."""
        with self._lock:
            return bool(self._uncounted or self._unknown or self._is_closing)

    def has_marks(self) -> bool:
        """Tell whether there is anything of this process in the counters, or will be."""
        with self._lock:
            return self._writer is not None or bool(self._unused or self._unknown)

    def is_due(self, moment: float) -> bool:
        """Tell whether it is time to count."""
        with self._lock:
            if self._is_closing or len(self._uncounted) >= COUNTED_AT_ONCE or self._is_quiet(moment):
                return True
            oldest = next(iter(self._uncounted.values()), None)
            return (oldest is not None and moment - oldest.since >= COUNTED_AFTER_SECONDS) or bool(
                self._old_unknown_outcomes(moment)
            )

    def is_idle(self) -> bool:
        """Tell whether nothing would be lost by forgetting this."""
        with self._lock:
            return self._is_idle() and not (self._is_closing or self._opening or self._is_being_written)

    def begin_writing(self) -> bool:
        """Tell whether the caller may count; it then says when it is through."""
        with self._lock:
            if self._is_being_written:
                return False
            self._is_being_written = True
            return True

    def end_writing(self) -> None:
        """Let the next one count."""
        with self._lock:
            self._is_being_written = False

    def old_unknown_outcomes(self, moment: float) -> dict[str, UnknownOutcome]:
        """Return the turns of which it can be known by now whether they are in the table."""
        with self._lock:
            return self._old_unknown_outcomes(moment)

    def misses_its_mark(self, counters: Counters) -> bool:
        """Tell whether the mark that this tally depends on is not there."""
        with self._lock:
            return self._writer is not None and self._writer not in counters.marks

    def may_restore_its_mark(self, now: datetime) -> bool:
        """Tell whether a missing mark was erased, with what it counted. Else it is gone because all is counted."""
        with self._lock:
            return self._is_fresh(now) and not self._may_be_closed

    def uncounted(self) -> dict[str, Uncounted]:
        """Return what waits to be counted."""
        with self._lock:
            return dict(self._uncounted)

    def keep_only(self, turn_ids: Collection[str]) -> None:
        """Forget what waits to be counted, but for these."""
        with self._lock:
            self._uncounted = {id_: one for id_, one in self._uncounted.items() if id_ in turn_ids}

    def give_up_mark(self) -> None:
        """Forget the mark, and what waited to be counted under it."""
        with self._lock:
            self._close()

    def plan(self, counters: Counters, now: datetime, moment: float, *, last: bool = False) -> Plan | None:
        """Return what to write over these counters, None for nothing. ``last``: the mark goes too, if that may be."""
        with self._lock:
            unused = frozenset(self._unused & set(counters.marks))
            if self._writer is None:
                return Plan(Amount(), unused, {}, counters.partitions) if unused else None
            if (seen := counters.marks.get(self._writer)) is not None:
                self._count_up_to(seen.upto)
            held = min(self._on_their_way(), default=None)
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
        """Note that the plan was not carried out, because the counters are not what they were."""
        with self._lock:
            self._is_closing = self._may_be_closed
            self._counters = None

    def got_no_answer(self) -> None:
        """Note that nobody knows whether the plan was carried out. A mark that was to go may be gone."""
        with self._lock:
            self._may_be_closed = self._is_closing

    def has_written(self, plan: Plan, counters: Counters, moment: float) -> None:
        """Note that the plan was carried out, and what the counters are now."""
        with self._lock:
            self._counters = counters
            self._partitions = max(self._partitions, counters.partitions)
            self._pace.saw(counters.turns, moment)
            self._unused -= plan.removed
            if self._writer in plan.removed:
                self._close()
            elif self._writer is not None and self._writer in plan.set:
                self._confirmed = plan.set[self._writer].at
                self._count_up_to(plan.set[self._writer].upto)

    def _on_their_way(self) -> set[str]:
        return self._flying | {id_ for id_, doubt in self._unknown.items() if doubt.is_deferred}

    def _without_a_mark(self, partition: int, *, has_waited: bool) -> Way:
        if self._opening is not None:
            return Counted(partition) if has_waited else Wait(self._opening)
        if has_waited:  # whoever tried had no luck; the counters may be out of reach
            return Counted(partition)
        self._opening = Future()
        return Counted(partition, opens=self._new_name())

    def _let_go_of_an_old_mark(self, now: datetime) -> None:
        if self._writer is not None and not self._is_fresh(now) and self._is_idle() and not self._is_closing:
            self._unused.add(self._writer)
            self._writer = None

    def _is_fresh(self, now: datetime) -> bool:
        return self._confirmed is not None and now - self._confirmed < USED_FOR

    def _is_idle(self) -> bool:
        return not (self._flying or self._uncounted or self._unknown)

    def _is_quiet(self, moment: float) -> bool:
        return self._writer is not None and self._is_idle() and moment - self._used >= QUIET_AFTER_SECONDS

    def _old_unknown_outcomes(self, moment: float) -> dict[str, UnknownOutcome]:
        return {id_: one for id_, one in self._unknown.items() if moment - one.since >= LANDED_AFTER_SECONDS}

    def _end(self, turn_id: str) -> None:
        self._flying.discard(turn_id)
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
