"""What is learned from users, and what is not because it is not their own statement."""

import pytest

from mcp_memory_server.domain.language.own_statements import LONGEST_STATED, own_statements
from tests.domain.summaries.learning_turns import adversarial, honest, is_learned, share


def test_there_are_enough_turns_of_both_kinds_in_five_languages() -> None:
    for turns in (list(honest()), list(adversarial())):
        assert len({said.text for said in turns}) >= 300
        assert {said.language for said in turns} == {"en", "de", "es", "ja", "zh"}


def test_next_to_nothing_is_learned_from_what_is_not_the_users_own() -> None:
    assert share(list(adversarial()), is_learned) <= 0.01


def test_most_of_what_users_state_is_learned() -> None:
    assert share(list(honest()), lambda said: not is_learned(said)) <= 0.25


def test_turns_that_the_rules_were_not_made_with_teach_little() -> None:
    assert share(list(adversarial(later=True)), is_learned) <= 0.05


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("I live in Rome. Which bus?", ["I live in Rome."]),
        ("Which bus? I live in Rome.", []),
        ("By the way: my name is Ana.", ["By the way: my name is Ana."]),
        ("Ana says I live in Rome.", []),
        ('I said "I live in Rome".', []),
        ("If I live in Rome, what then?", []),
        ("I live in Rome. " * (LONGEST_STATED // 16 + 1), []),
    ],
)
def test_only_direct_statements_are_the_users_own(text: str, own: list[str]) -> None:
    assert own_statements(text) == own
