"""Which memories answer a question, and in which order."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.memories import Kind, Known, KnownMemory, from_fact
from mcp_memory_server.domain.ranking import RELEVANCE_FLOOR, best_first, rank
from mcp_memory_server.domain.word_index import closeness, index_words
from tests.domain.samples import DAY, NOON, fact, known_fact, known_preference

ANNA = [
    known_fact("Anna lives in Bern", "personal/location/city"),
    known_fact("Anna works at the zoo as a vet", "work/employer"),
    known_fact("Anna is allergic to peanuts", "health/allergy"),
    known_preference("tone", "brief"),
]


def texts(found: list[KnownMemory]) -> list[str]:
    return [memory.text for memory in found]


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("In which city does Anna live?", "Anna lives in Bern"),
        ("who is the employer", "Anna works at the zoo as a vet"),
        ("ALLERGIES?", "Anna is allergic to peanuts"),
        ("peanut", "Anna is allergic to peanuts"),
        ("tone", "tone: brief"),
    ],
)
def test_the_memory_that_shares_the_rare_words_comes_first(question: str, best: str) -> None:
    assert texts(rank(Known(1, ANNA), question, NOON))[:1] == [best]


@pytest.mark.parametrize("question", ["quantum chromodynamics", "xyzzy", "bernard", "東京"])
def test_nonsense_finds_nothing(question: str) -> None:
    assert rank(Known(1, ANNA), question, NOON) == []


def test_a_single_memory_is_found_too() -> None:
    assert texts(rank(Known(1, ANNA[:1]), "Bern", NOON)) == ["Anna lives in Bern"]


def test_nothing_is_found_in_an_empty_memory() -> None:
    assert rank(Known(1, []), "Bern", NOON) == []
    assert rank(Known(1, []), "what do you know about me?", NOON) == []


def test_a_common_word_in_a_long_question_is_below_the_floor() -> None:
    question = "anna " + " ".join(f"unknown{number}" for number in range(15))

    close = closeness(index_words([memory.searched_text for memory in ANNA]), question)
    assert max(close.values(), default=0) < RELEVANCE_FLOOR
    assert rank(Known(1, ANNA), question, NOON) == []


@pytest.mark.parametrize("length", [1, 10, 60, 300])
def test_a_question_of_any_length_finds_the_memory_that_shares_a_third_of_it(length: int) -> None:
    asked = [f"word{number}" for number in range(length)]
    answer = known_fact(" ".join(asked[: length // 3 + 1]))

    assert texts(rank(Known(1, [*ANNA, answer]), " ".join(asked), NOON)) == [answer.text]


def test_what_only_shares_the_word_that_everything_shares_is_left_out() -> None:
    others = [known_fact(f"Anna owns thing{number}") for number in range(300)]

    found = rank(Known(1, [*others, *ANNA]), "Is Anna allergic to peanuts?", NOON)

    assert texts(found) == ["Anna is allergic to peanuts"]


def test_a_question_without_a_telling_word_is_answered_with_the_best_of_everything() -> None:
    found = rank(Known(1, ANNA), "what do you know about me?", NOON)

    assert found == best_first(Known(1, ANNA), NOON)
    assert found[0].kind is Kind.PREFERENCE
    assert len(found) == len(ANNA)


def test_a_search_can_be_limited() -> None:
    among = [memory for memory in ANNA if memory.topic == "work/employer"]

    assert rank(Known(1, ANNA), "Bern", NOON, among) == []
    assert texts(rank(Known(1, ANNA), "what about me", NOON, among)) == ["Anna works at the zoo as a vet"]


def test_of_two_equal_memories_the_fresher_one_comes_first() -> None:
    old, new = known_fact("Anna has a cat", at=NOON - 700 * DAY), known_fact("Anna has a dog", at=NOON)

    assert texts(rank(Known(1, [old, new]), "Anna", NOON)) == ["Anna has a dog", "Anna has a cat"]


def test_a_word_in_the_name_of_the_topic_counts() -> None:
    assert texts(rank(Known(1, ANNA), "health", NOON)) == ["Anna is allergic to peanuts"]


def test_the_order_without_a_question_follows_fading_within_the_hour() -> None:
    memories = [from_fact(fact(f"Fact {number}", None, at=NOON - number * DAY)) for number in range(5)]
    known = Known(1, memories)

    assert best_first(known, NOON) == memories
    assert best_first(known, NOON + timedelta(minutes=59)) is best_first(known, NOON)
    assert len(known.orders) == 1


@given(st.lists(st.text("abc ", max_size=12), max_size=12), st.text("abc ", min_size=1, max_size=8))
def test_what_is_found_shares_a_word_with_the_question(stored: list[str], question: str) -> None:
    memories = [known_fact(text) for text in {text.strip() for text in stored if text.strip()}]

    found = rank(Known(1, memories), question, NOON)

    asked = set(question.split()) - {"a"}
    assert not asked or all(asked & set(memory.text.split()) for memory in found)
