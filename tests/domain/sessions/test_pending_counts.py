"""What a process decides about its turns in a session, whatever the order in which their writes end."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.sessions.count_writes import Counted, Deferred, Uncounted, UnknownOutcome, Wait
from mcp_memory_server.domain.sessions.counts import Counters, Line, Watermark, not_counted
from mcp_memory_server.domain.sessions.hot_sessions import Pace
from mcp_memory_server.domain.sessions.pending_counts import PendingCounts
from tests.domain.samples import NOON

FIRST = "0000"


def opened() -> tuple[PendingCounts, Counters]:
    names = itertools.count(1)
    pending = PendingCounts(lambda: f"w.{next(names)}", Pace(500))
    way = pending.begin(FIRST, NOON, 0.0)
    assert isinstance(way, Counted)
    assert way.opens == "w.1"
    counters = Counters(version=1, turns=1, tokens=1, watermarks={"w.1": Watermark(FIRST, NOON)})
    pending.has_opened("w.1", counters.watermarks["w.1"], counters)
    return pending, counters


steps = st.lists(st.tuples(st.sampled_from(["begin", "land", "unknown", "count"]), st.integers(1, 12)), max_size=60)


@given(steps)
def test_a_reader_finds_the_exact_count_at_every_step(steps: list[tuple[str, int]]) -> None:
    pending, counters = opened()
    stored: dict[str, Line] = {FIRST: Line(FIRST, 1)}
    flying: dict[str, Deferred] = {}

    for what, number in steps:
        turn_id = f"{number:04}"
        if what == "begin" and turn_id not in stored and turn_id not in flying:
            way = pending.begin(turn_id, NOON, 0.0)
            if isinstance(way, Deferred):
                flying[turn_id] = way
            else:  # counted with its own write
                stored[turn_id] = Line(turn_id, 1)
                counters = Counters(counters.version + 1, counters.turns + 1, counters.tokens + 1, counters.watermarks)
        elif what in ("land", "unknown") and (light := flying.pop(turn_id, None)):
            stored[turn_id] = Line(turn_id, 1, light.writer)
            if what == "land":
                pending.has_landed(turn_id, Uncounted(1, 0, 0.0), light.writer)
            else:
                pending.has_unknown_outcome(turn_id, UnknownOutcome(0, 0.0, is_deferred=True))
        elif what == "count" and (plan := pending.plan(counters, NOON, 0.0)):
            counters = plan.applied_to(counters)
            pending.has_written(plan, counters, 0.0)
        assert counters.turns + not_counted(stored.values(), counters).turns == len(stored)


def test_while_a_mark_is_made_others_wait_for_it_once() -> None:
    pending = PendingCounts(lambda: "w.1", Pace(500))
    assert isinstance(pending.begin("0001", NOON, 0.0), Counted)
    waiting = pending.begin("0002", NOON, 0.0)
    assert isinstance(waiting, Wait)

    pending.has_not_opened("w.1", perhaps=True)

    assert waiting.over.done()
    assert pending.begin("0002", NOON, 0.0, has_waited=True) == Counted(0)


def test_a_mark_that_goes_is_not_used_any_more() -> None:
    pending, counters = opened()

    plan = pending.plan(counters, NOON, 0.0, last=True)

    assert plan is not None
    assert (plan.removed, plan.set) == (frozenset({"w.1"}), {})
    assert pending.begin("0005", NOON, 0.0) == Counted(0)
    pending.has_written(plan, plan.applied_to(counters), 0.0)
    assert pending.begin("0006", NOON, 0.0) == Counted(0, opens="w.2")
