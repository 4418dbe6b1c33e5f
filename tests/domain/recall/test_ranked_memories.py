"""An updated overview equals the one that a rebuild gives."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.facts.fact import Fact, Statement
from mcp_memory_server.domain.facts.learning import learn
from mcp_memory_server.domain.recall.memories import StoredMemory, UserSnapshot, from_fact
from mcp_memory_server.domain.recall.ranked_memories import Overview, apply_changes, build_overview, overview_of_day
from tests.domain.generated import memories
from tests.domain.samples import DAY, NOON, fact, known_fact


def told(overview: Overview) -> object:
    categories = {shelf: places for shelf, places in overview.categories.items() if places}
    return categories, overview.days, overview.ends, overview.changes, dict(overview.topics)


def dated(text: str, day: int) -> StoredMemory:
    return from_fact(learn(Statement(text, until=NOON.date() + timedelta(days=day)), NOON).fact)


some = memories | st.builds(dated, st.sampled_from(["In Rome", "At work"]), st.integers(0, 50))
rows = st.dictionaries(st.sampled_from("abcdefgh"), some)


@given(rows, st.lists(rows, max_size=4), st.sets(st.sampled_from("abcdefgh")))
def test_changes_lead_to_the_overview_that_a_rebuild_gives(
    first: dict[str, StoredMemory], changes: list[dict[str, StoredMemory]], removed: set[str]
) -> None:
    current, overview = dict(first), build_overview(first, NOON)
    for new in [*changes, {}]:
        changed = new.keys() | removed
        gone = {sk: current.pop(sk) for sk in changed if sk in current}
        current.update(new)
        after = apply_changes(overview, gone, new)
        assert after is not None
        overview = after

    assert told(overview) == told(build_overview(current, NOON))


@given(rows, rows)
def test_an_earlier_overview_does_not_change(first: dict[str, StoredMemory], new: dict[str, StoredMemory]) -> None:
    overview = build_overview(first, NOON)

    apply_changes(overview, {sk: first[sk] for sk in new if sk in first}, new)

    assert told(overview) == told(build_overview(first, NOON))


def test_an_overview_is_built_once_a_day() -> None:
    snapshot = UserSnapshot(1, {"a": known_fact("Anna has a cat")})

    first = overview_of_day(snapshot, NOON)

    assert overview_of_day(snapshot, NOON + timedelta(hours=11)) is first
    assert overview_of_day(snapshot, NOON + DAY) is not first


def overview_with(*facts: Fact) -> Overview:
    return build_overview({str(place): from_fact(one) for place, one in enumerate(facts)}, NOON)


def test_the_last_batch_is_what_was_saved_without_a_pause() -> None:
    old, new, newer = (fact(f"Fact {n}", None, at=NOON + n * DAY) for n in (0, 5, 5))
    overview = build_overview({"old": from_fact(old), "new": from_fact(new), "newer": from_fact(newer)}, NOON)

    assert {change.sort_key for change in overview.changed_last(30)} == {"new", "newer"}


def test_a_large_batch_is_not_reported_as_last() -> None:
    assert overview_with(fact("One", None), fact("Two", None)).changed_last(30) == []
    many = [fact("Old", None, at=NOON - 5 * DAY), *(fact(f"Fact {n}", None) for n in range(40))]
    assert overview_with(*many).changed_last(30) == []


def test_past_facts_are_not_counted() -> None:
    overview = build_overview({"a": dated("In Rome", 3), "b": known_fact("Has a cat")}, NOON)

    assert [overview.count_at(NOON + days * DAY) for days in (0, 3, 4)] == [2, 2, 1]
