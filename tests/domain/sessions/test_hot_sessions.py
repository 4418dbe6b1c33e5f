"""Where the turns of hot conversations lie, and when a conversation is hot."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.hot_sessions import MOST_PARTITIONS, Pace, partition_of, possible_partitions
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.schema.turn_records import session_partition
from tests.domain.samples import NOON
from tests.schema.test_keys import SIGNS

turn_ids = st.integers(0, 10**6).map(lambda number: f"01JNB3X8M0{number:016}")
partition_numbers = st.integers(1, MOST_PARTITIONS)
names = st.lists(st.sampled_from([*SIGNS, "1", "63", "#1"]), min_size=1, max_size=3).map("".join)


@given(turn_ids, partition_numbers, partition_numbers)
def test_a_turn_is_found_in_one_of_a_few_places_however_many_there_were_when_it_was_put(
    turn_id: str, one: int, other: int
) -> None:
    then, now = sorted((one, other))
    possible = possible_partitions(turn_id, now)

    assert 0 <= partition_of(turn_id, then) < then
    assert partition_of(turn_id, then) in possible
    assert len(possible) <= 7


def test_turns_spread_over_all_partitions() -> None:
    last = None
    spread: Counter[int] = Counter()
    for _ in range(4000):
        last = ulid_after(last, NOON)
        spread[partition_of(last, 8)] += 1

    assert sorted(spread) == list(range(8))
    assert max(spread.values()) < 2 * min(spread.values())


@given(st.lists(st.tuples(names, names, st.integers(0, MOST_PARTITIONS - 1)), min_size=2, max_size=12, unique=True))
def test_no_two_sessions_share_a_partition(places: list[tuple[str, str, int]]) -> None:
    owners: dict[str, tuple[str, str, int]] = {}
    for user, session, number in places:
        try:
            scope = Scope(user, session)
        except InvalidRequestError:
            continue
        assert owners.setdefault(session_partition(scope, number), (user, session, number)) == (user, session, number)


def test_a_session_is_hot_when_each_partition_gets_more_than_it_takes() -> None:
    pace = Pace(hot_rate=10)
    for _ in range(11):
        pace.wrote(0.0)

    assert not pace.takes_more(2, 0.5)
    assert pace.takes_more(1, 0.5)
    assert not pace.takes_more(1, 0.9), "once in a second"


def test_turns_of_another_second_do_not_make_it_hot() -> None:
    pace = Pace(hot_rate=10)
    for second in range(5):
        for _ in range(9):
            pace.wrote(float(second))

    assert not pace.takes_more(1, 4.5)


def test_what_all_processes_wrote_makes_it_hot_too() -> None:
    pace = Pace(hot_rate=10)
    pace.saw(1000, 0.0)
    assert not pace.takes_more(1, 0.0), "the first look tells nothing of the pace"

    pace.saw(1100, 5.0)

    assert pace.takes_more(1, 5.0)


def test_there_are_at_most_so_many_partitions() -> None:
    pace = Pace(hot_rate=0)
    pace.wrote(0.0)

    assert not pace.takes_more(MOST_PARTITIONS, 0.0)
