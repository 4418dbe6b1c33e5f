"""Write the counters of sessions: a writer counts many turns with one write. See `domain.sessions.counts`."""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from mcp_memory_server.domain.kernel.items import Put, Update
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.count_writes import Plan, Uncounted
from mcp_memory_server.domain.sessions.counts import (
    Amount,
    Counters,
    Line,
    Watermark,
    amount_of,
    not_counted,
)
from mcp_memory_server.domain.sessions.hot_sessions import MOST_PARTITIONS
from mcp_memory_server.domain.sessions.pending_counts import PendingCounts
from mcp_memory_server.errors import ConflictError, UnavailableError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metric_catalogue import SALTED_SESSIONS
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.schema.turn_records import (
    AFTER_TURNS,
    COUNTED,
    ENDED_AT,
    PARTITIONS,
    TOKEN_COUNT,
    TURN_COUNT,
    TURNS,
    WATERMARKS,
    counters_from,
    line_from,
    meta_key,
    session_partition,
    session_written,
    turn_key,
    watermarks_body,
)
from mcp_memory_server.services.kernel.retries import retry_on_conflict

OPENED_WITHIN = 8
"""How often opening a watermark is tried while others change the counters. Giving up changes them even more often."""
FIRST_PAUSE_SECONDS = 0.005


class TurnCounters:
    """Changes the counters of sessions, on condition that they are as they were read."""

    def __init__(
        self, table: ItemTable, now: Callable[[], datetime], monotonic: Callable[[], float], metrics: Metrics
    ) -> None:
        self._table = table
        self._now = now
        self._monotonic = monotonic
        self._metrics = metrics

    async def read(self, scope: Scope) -> Counters:
        """Return the counters as they are now."""
        return counters_from(await self._table.get(meta_key(scope)))

    async def count_with(self, scope: Scope, turns: Sequence[Put], lines: Sequence[Line]) -> None:
        """Write turns and count them at once.

        Raises:
            ConflictError: One of them is there already. Nothing was written.
        """
        amount = amount_of(lines)
        count = session_written(scope, self._now(), add={TURN_COUNT: amount.turns, TOKEN_COUNT: amount.tokens})
        await self._table.write([*turns, count], operation_id=uuid4().hex)

    async def open_with(
        self, scope: Scope, turns: Sequence[Put], lines: Sequence[Line], writer: str, pending: PendingCounts
    ) -> None:
        """Write turns, count them and open the writer's watermark, all at once; without the watermark if that fails.

        Raises:
            ConflictError: One of them is there already. Nothing was written.
        """
        try:
            is_open = await self._open_with(scope, turns, lines, writer, pending)
        except BaseException as error:
            pending.has_not_opened(writer, perhaps=not isinstance(error, ConflictError))
            raise
        if not is_open:
            pending.has_not_opened(writer, perhaps=False)

    async def write(self, scope: Scope, pending: PendingCounts, *, last: bool) -> None:
        """Add the pending turns to the counters; with ``last``, remove the watermark too."""
        if not (pending.has_watermarks() and pending.begin_writing()):
            return
        try:
            await self._settle_unknown_outcomes(scope, pending)
            await retry_on_conflict(lambda: self._write(scope, pending, last=last))
        finally:
            pending.end_writing()
        if pending.is_hot(self._monotonic()):
            await self.split(scope, pending)

    async def split(self, scope: Scope, pending: PendingCounts) -> None:
        """Double the partitions, unless the table does not answer."""
        with suppress(UnavailableError):  # turns are put into the present partitions
            await self.raise_partitions(scope, pending, pending.partitions * 2)

    async def raise_partitions(self, scope: Scope, pending: PendingCounts, to: int) -> int:
        """Raise the number of partitions to this, within the limit, and return how many there are."""

        async def attempt() -> Counters:
            counters = await self.read(scope)
            wanted = min(to, MOST_PARTITIONS)
            if counters.partitions >= wanted:
                return counters
            raised = {PARTITIONS: wanted}
            counters = await self._update(
                session_written(scope, self._now(), set=raised, expected_version=counters.version)
            )
            self._metrics.record(SALTED_SESSIONS, 1)
            return counters

        counters = await retry_on_conflict(attempt)
        pending.learn(counters)
        return counters.partitions

    async def end(self, scope: Scope, ended_at: datetime, operation_id: str) -> None:
        """Store when the session was ended."""
        ended = session_written(scope, self._now(), set={ENDED_AT: ended_at.isoformat()})
        await self._table.update(ended, operation_id=operation_id)

    async def _open_with(
        self, scope: Scope, turns: Sequence[Put], lines: Sequence[Line], writer: str, pending: PendingCounts
    ) -> bool:
        """Return whether the watermark was opened; the turns are written in any case."""
        counters = pending.counters or await self.read(scope)
        for attempt in range(OPENED_WITHIN):
            now = self._now()
            plan = pending.plan_to_open(writer, lines, counters, now)
            try:
                await self._table.write([*turns, _planned(scope, counters, plan, now)], operation_id=uuid4().hex)
            except ConflictError:
                if await self._table.get_many([turn.key for turn in turns], attributes=()):
                    raise
                longest = FIRST_PAUSE_SECONDS * 2**attempt
                await asyncio.sleep(random.uniform(0, longest))  # noqa: S311 - no secret depends on it
                counters = await self.read(scope)
            else:
                pending.has_opened(writer, plan.set[writer], plan.applied_to(counters))
                return True
        await self.count_with(scope, turns, lines)
        return False

    async def _write(self, scope: Scope, pending: PendingCounts, *, last: bool) -> None:
        counters = pending.counters or await self.read(scope)
        if pending.misses_watermark(counters):
            counters = await self.read(scope)
            await self._handle_missing_watermark(scope, pending, counters)
        now = self._now()
        plan, unused = pending.plan(counters, now, self._monotonic(), last=last), self._unused(counters, pending, now)
        if plan is None and not unused:
            return
        plan = plan or Plan(Amount(), frozenset(), {}, counters.partitions)
        amount, gone = await self._abandoned_counts(scope, counters, unused)
        plan = replace(plan, amount=plan.amount + amount, removed=plan.removed | gone)
        try:
            after = await self._update(_planned(scope, counters, plan, now))
        except ConflictError:
            pending.was_refused()
            raise
        except BaseException:
            pending.got_no_answer()
            raise
        pending.has_written(plan, after, self._monotonic())

    def _unused(self, counters: Counters, pending: PendingCounts, now: datetime) -> dict[str, Watermark]:
        moment = self._monotonic()
        pending.observe(counters, now, moment)
        return pending.abandoned(counters, now, moment)

    async def _handle_missing_watermark(self, scope: Scope, pending: PendingCounts, counters: Counters) -> None:
        """Drop or restore a missing watermark: an erased session needs it again for the turns written since."""
        if not pending.misses_watermark(counters):
            return
        if pending.may_restore_watermark(self._now()):
            pending.keep_only(await self._still_there(scope, pending.uncounted()))
        else:
            pending.drop_watermark()

    async def _still_there(self, scope: Scope, uncounted: Mapping[str, Uncounted]) -> set[str]:
        keys = {turn_key(scope, turn_id, one.partition): turn_id for turn_id, one in uncounted.items()}
        return {keys[key] for key in await self._table.get_many(keys)}

    async def _settle_unknown_outcomes(self, scope: Scope, pending: PendingCounts) -> None:
        moment = self._monotonic()
        unknown_outcomes = pending.old_unknown_outcomes(moment)
        keys = {turn_key(scope, turn_id, unknown.partition): turn_id for turn_id, unknown in unknown_outcomes.items()}
        if not keys:
            return
        found = await self._table.get_many(keys)
        for key, turn_id in keys.items():
            line = line_from(found[key]) if key in found else None
            if line is None or line.writer is None:
                pending.is_settled(turn_id)
            else:
                pending.has_landed(
                    turn_id, Uncounted(line.tokens, unknown_outcomes[turn_id].partition, moment), line.writer
                )

    async def _abandoned_counts(
        self, scope: Scope, counters: Counters, watermarks: Mapping[str, Watermark]
    ) -> tuple[Amount, frozenset[str]]:
        """Return what writers with an abandoned watermark have not counted, and their names."""
        if not watermarks:
            return Amount(), frozenset()
        between = (TURNS + min(watermark.upto for watermark in watermarks.values()), AFTER_TURNS)
        lines: list[Line] = []
        for number in range(counters.partitions):
            partition = session_partition(scope, number)
            page = await self._table.query(partition, between=between, limit=None, attributes=COUNTED)
            lines += [line_from(item) for item in page.items]
        # Without the watermarks of the other writers, their turns pass for counted.
        return not_counted(lines, replace(counters, watermarks=watermarks)), frozenset(watermarks)

    async def _update(self, update: Update) -> Counters:
        return counters_from(await self._table.update(update, operation_id=uuid4().hex))


def _planned(scope: Scope, counters: Counters, plan: Plan, now: datetime) -> Update:
    after = plan.applied_to(counters)
    partitions = {PARTITIONS: after.partitions} if after.partitions > 1 else {}
    return session_written(
        scope,
        now,
        add={TURN_COUNT: plan.amount.turns, TOKEN_COUNT: plan.amount.tokens},
        set={WATERMARKS: watermarks_body(after.watermarks), **partitions},
        expected_version=counters.version,
    )
