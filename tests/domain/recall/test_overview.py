"""An overview that is kept up to date is the one that would be worked out anew."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.facts.fact import Fact, Statement
from mcp_memory_server.domain.facts.learning import learn
from mcp_memory_server.domain.recall.memories import StoredMemory, UserSnapshot, from_fact
from mcp_memory_server.domain.recall.overview import Overview, overview_at, overview_of, updated
from tests.domain.generated import memories
from tests.domain.samples import DAY, NOON, fact, known_fact


def told(overview: Overview) -> object:
    shelves = {shelf: places for shelf, places in overview.shelves.items() if places}
    return shelves, overview.days, overview.ends, overview.changes, dict(overview.topics)


def dated(text: str, day: int) -> StoredMemory:
    return from_fact(learn(Statement(text, until=NOON.date() + timedelta(days=day)), NOON).fact)


some = memories | st.builds(dated, st.sampled_from(["In Rome", "At work"]), st.integers(0, 50))
rows = st.dictionaries(st.sampled_from("abcdefgh"), some)


@given(rows, st.lists(rows, max_size=4), st.sets(st.sampled_from("abcdefgh")))
def test_what_was_changed_is_moved(
    first: dict[str, StoredMemory], changes: list[dict[str, StoredMemory]], removed: set[str]
) -> None:
    current, overview = dict(first), overview_of(first, NOON)
    for new in [*changes, {}]:
        changed = new.keys() | removed
        gone = {sk: current.pop(sk) for sk in changed if sk in current}
        current.update(new)
        after = updated(overview, gone, new)
        assert after is not None
        overview = after

    assert told(overview) == told(overview_of(current, NOON))


@given(rows, rows)
def test_whoever_holds_an_earlier_overview_is_not_disturbed(
    first: dict[str, StoredMemory], new: dict[str, StoredMemory]
) -> None:
    overview = overview_of(first, NOON)

    updated(overview, {sk: first[sk] for sk in new if sk in first}, new)

    assert told(overview) == told(overview_of(first, NOON))


def test_it_is_worked_out_once_a_day() -> None:
    known = UserSnapshot(1, {"a": known_fact("Anna has a cat")})

    first = overview_at(known, NOON)

    assert overview_at(known, NOON + timedelta(hours=11)) is first
    assert overview_at(known, NOON + DAY) is not first


def overview_with(*facts: Fact) -> Overview:
    return overview_of({str(place): from_fact(one) for place, one in enumerate(facts)}, NOON)


def test_what_was_saved_in_one_go_is_what_was_last() -> None:
    old, new, newer = (fact(f"Fact {n}", None, at=NOON + n * DAY) for n in (0, 5, 5))
    overview = overview_of({"old": from_fact(old), "new": from_fact(new), "newer": from_fact(newer)}, NOON)

    assert {change.sort_key for change in overview.changed_last(30)} == {"new", "newer"}


def test_what_was_saved_all_at_once_says_nothing_of_what_was_last() -> None:
    assert overview_with(fact("One", None), fact("Two", None)).changed_last(30) == []
    many = [fact("Old", None, at=NOON - 5 * DAY), *(fact(f"Fact {n}", None) for n in range(40))]
    assert overview_with(*many).changed_last(30) == []


def test_what_is_over_is_not_counted() -> None:
    overview = overview_of({"a": dated("In Rome", 3), "b": known_fact("Has a cat")}, NOON)

    assert [overview.count_at(NOON + days * DAY) for days in (0, 3, 4)] == [2, 2, 1]
