"""The rule of counting: a reader finds the exact count whatever was counted, put off, or left behind."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.sessions.counts import (
    ABANDONED_AFTER,
    Amount,
    Counters,
    Line,
    Watermark,
    abandoned,
    amount_of,
    is_counted,
    not_counted,
    uncounted_after,
)
from tests.domain.samples import NOON

WRITERS = ["a", "b", "c"]
ids = st.integers(0, 50).map(lambda number: f"{number:03}")
lines = st.lists(
    st.builds(Line, ids, st.integers(0, 9), st.sampled_from([None, *WRITERS])), unique_by=lambda line: line.id
)
watermarks = st.dictionaries(st.sampled_from(WRITERS), st.builds(Watermark, ids, st.just(NOON)))


@given(lines, watermarks)
def test_counted_and_uncounted_turns_are_all_turns(stored: list[Line], watermarks: dict[str, Watermark]) -> None:
    counters = Counters(version=1, watermarks=watermarks)

    counted = amount_of(line for line in stored if is_counted(line, counters))

    assert counted + not_counted(stored, counters) == amount_of(stored)


@given(lines, watermarks)
def test_uncounted_turns_lie_only_after_the_oldest_mark(stored: list[Line], watermarks: dict[str, Watermark]) -> None:
    counters = Counters(version=1, watermarks=watermarks)
    after = uncounted_after(counters)

    newer = [line for line in stored if after is not None and line.id > after]

    assert not_counted(newer, counters) == not_counted(stored, counters)


@given(lines, watermarks, st.sampled_from(WRITERS))
def test_taking_a_mark_away_counts_exactly_what_lay_after_it(
    stored: list[Line], watermarks: dict[str, Watermark], gone: str
) -> None:
    before = Counters(version=1, watermarks=watermarks)
    left = {name: watermark for name, watermark in watermarks.items() if name != gone}

    counted_for_it = not_counted(
        stored, replace(before, watermarks={gone: watermarks[gone]} if gone in watermarks else {})
    )

    assert counted_for_it + not_counted(stored, replace(before, watermarks=left)) == not_counted(stored, before)


@given(lines)
def test_without_counters_every_turn_is_counted_by_the_reader(stored: list[Line]) -> None:
    assert not_counted(stored, Counters()) == amount_of(stored)
    assert uncounted_after(Counters()) == ""


def test_a_turn_that_was_read_twice_counts_once() -> None:
    line = Line("001", 5, "a")

    assert not_counted([line, line], Counters(version=1, watermarks={"a": Watermark("000", NOON)})) == Amount(1, 5)


def test_a_mark_is_abandoned_when_its_writer_did_not_touch_it_for_an_hour() -> None:
    old, new = Watermark("001", NOON - ABANDONED_AFTER), Watermark("001", NOON - ABANDONED_AFTER + timedelta(seconds=1))
    counters = Counters(version=1, watermarks={"old": old, "new": new, "mine": old})

    assert abandoned(counters, NOON, "mine") == {"old": old}
