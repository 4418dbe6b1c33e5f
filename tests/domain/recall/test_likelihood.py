"""Probabilities have labels, and few weak matches are returned."""

import pytest

from mcp_memory_server.domain.recall.likelihood import LIKELY_FROM, RELATED_FROM, Likelihood, likelihood, most_weak


@pytest.mark.parametrize(
    ("probability", "word"),
    [
        (1.0, Likelihood.LIKELY),
        (LIKELY_FROM, Likelihood.LIKELY),
        (LIKELY_FROM - 0.001, Likelihood.RELATED),
        (RELATED_FROM, Likelihood.RELATED),
        (RELATED_FROM - 0.001, Likelihood.WEAK),
        (0.0, Likelihood.WEAK),
    ],
)
def test_a_probability_has_a_label(probability: float, word: Likelihood) -> None:
    assert likelihood(probability) is word


@pytest.mark.parametrize(
    ("clear", "weak"), [([0.9], 3), ([0.9, 0.2, 0.2], 3), ([], 8), ([0.3], 7), ([0.3] * 3, 5), ([0.3] * 20, 5)]
)
def test_weak_matches_are_few_and_fewest_beside_a_likely_one(clear: list[float], weak: int) -> None:
    assert most_weak(clear) == weak
