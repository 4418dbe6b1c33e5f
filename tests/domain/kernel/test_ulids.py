"""ULIDs are in time order, whatever the clock does."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.kernel.ulids import is_ulid, moment_of, ulid_after

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@given(st.lists(st.timedeltas(-timedelta(days=3000), timedelta(days=3000)), min_size=2, max_size=60))
def test_ids_rise_strictly_however_the_clock_jumps(jumps: list[timedelta]) -> None:
    ids: list[str] = []
    for jump in jumps:
        ids.append(ulid_after(ids[-1] if ids else None, NOON + jump))

    assert all(earlier < later for earlier, later in pairwise(ids))
    assert all(is_ulid(each) for each in ids)


def test_a_thousand_ids_of_one_millisecond_rise_and_keep_the_millisecond() -> None:
    ids = [ulid_after(None, NOON)]
    for _ in range(1000):
        ids.append(ulid_after(ids[-1], NOON))

    assert ids == sorted(set(ids))
    assert {moment_of(each) for each in ids} == {NOON}


@given(st.timedeltas(-timedelta(days=20_000), timedelta(days=300_000)))
def test_the_moment_of_an_id_is_the_moment_it_was_made_at_to_the_millisecond(jump: timedelta) -> None:
    moment = NOON + jump

    assert abs(moment_of(ulid_after(None, moment)) - moment) <= timedelta(milliseconds=1)


def test_what_is_no_id_is_not_taken_for_one() -> None:
    assert not any(is_ulid(text) for text in ("", "x" * 26, "8" + "0" * 25, "0" * 25, "01ARZ3NDEKTSV4RRFFQ69G5FAv"))
