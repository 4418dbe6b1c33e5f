"""How likely a memory answers is said in a word."""

import pytest

from mcp_memory_server.domain.likelihood import LIKELY_FROM, RELATED_FROM, Likelihood, likelihood


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
def test_a_probability_has_a_word(probability: float, word: Likelihood) -> None:
    assert likelihood(probability) is word
