"""The weight of a memory whatever the question, and the order on a page."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot
from mcp_memory_server.domain.recall.priors import prior, prior_of_turn, usage_boost
from mcp_memory_server.domain.recall.ranked_memories import best_first
from tests.domain.samples import DAY, NOON, known_fact, known_preference

ANNA = [
    known_fact("Anna lives in Bern", "personal/location/city"),
    known_fact("Anna works at the zoo as a vet", "work/employer"),
    known_preference("tone", "brief"),
]


def known(memories: list[StoredMemory]) -> UserSnapshot:
    return UserSnapshot(1, {str(number): memory for number, memory in enumerate(memories)})


def test_preferences_rank_before_facts() -> None:
    found = best_first(known(ANNA), NOON)

    assert found[0].kind is Kind.PREFERENCE
    assert len(found) == len(ANNA)


def test_the_order_without_a_question_follows_confidence_and_is_computed_once_a_day() -> None:
    memories = [known_fact(f"Fact {number}", at=NOON - number * DAY) for number in range(5)]
    all_of_them = known(memories)

    assert best_first(all_of_them, NOON) == memories
    assert best_first(all_of_them, NOON + timedelta(days=300)) == memories
    assert len(all_of_them.overviews) == 1


def test_a_fresh_memory_weighs_more_than_an_old_one() -> None:
    old, new = known_fact("Anna has a cat", at=NOON - 700 * DAY), known_fact("Anna has a dog", at=NOON)

    assert prior(new, NOON) > prior(old, NOON)


def test_an_important_turn_weighs_more_than_a_greeting() -> None:
    assert prior_of_turn(NOON, 0.9, NOON) > prior_of_turn(NOON, 0.1, NOON)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_frequently_returned_memories_get_a_small_limited_bonus(one: int, other: int) -> None:
    assert (usage_boost(one) <= usage_boost(other)) == (one <= other) or usage_boost(one) == usage_boost(other)
    assert 1.0 <= usage_boost(one) <= 1.1
