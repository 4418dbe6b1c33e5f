"""Likelihood: how probable it is that a memory answers a question, in a word that a model can judge by.

Scores can say how likely one hit is. They cannot say whether a question is answered at all, so nothing here ever claims
that something is not stored: the nearest memories are returned, and labelled.
"""

from collections.abc import Sequence
from enum import StrEnum

LIKELY_FROM = 0.65
RELATED_FROM = 0.06
"""The probabilities from which on a memory is called likely, and related."""
MOST_WEAK_BESIDE_LIKELY, MOST_WEAK, FEWEST_RETURNED = 3, 5, 8
"""So many weak matches are returned: enough to judge by, too few to crowd a reply. Beside a likely one fewer will do;
where hardly anything is better than weak, they fill the reply up to so many memories in all."""


class Likelihood(StrEnum):
    """How likely it is that a memory answers the question."""

    LIKELY = "likely"
    RELATED = "related"
    WEAK = "weak"


def most_weak(probabilities: Sequence[float]) -> int:
    """Return how many weak matches are returned beside these clear ones."""
    if any(probability >= LIKELY_FROM for probability in probabilities):
        return MOST_WEAK_BESIDE_LIKELY
    return max(MOST_WEAK, FEWEST_RETURNED - len(probabilities))


def likelihood(probability: float) -> Likelihood:
    """Return the word for a probability."""
    if probability >= LIKELY_FROM:
        return Likelihood.LIKELY
    return Likelihood.RELATED if probability >= RELATED_FROM else Likelihood.WEAK
