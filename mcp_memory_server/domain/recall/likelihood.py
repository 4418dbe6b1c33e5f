"""Label how likely a memory answers a question.

A score says how likely one match is. It cannot say whether the question is answered at all, so nothing here claims that
something is not stored: the nearest memories are returned, and labelled.
"""

from collections.abc import Sequence
from enum import StrEnum

LIKELY_FROM = 0.65
RELATED_FROM = 0.06
"""The lowest probabilities of the labels "likely" and "related"."""
MOST_WEAK_BESIDE_LIKELY, MOST_WEAK, FEWEST_RETURNED = 3, 5, 8
"""How many weak matches are returned: enough to judge by, too few to crowd a reply. Beside a likely match fewer are
returned; with few clear matches, they fill the reply up to ``FEWEST_RETURNED``.
"""


class Likelihood(StrEnum):
    """How likely it is that a memory answers the question."""

    LIKELY = "likely"
    RELATED = "related"
    WEAK = "weak"


def most_weak(probabilities: Sequence[float]) -> int:
    """Return how many weak matches are returned beside matches with these probabilities."""
    if any(probability >= LIKELY_FROM for probability in probabilities):
        return MOST_WEAK_BESIDE_LIKELY
    return max(MOST_WEAK, FEWEST_RETURNED - len(probabilities))


def likelihood(probability: float) -> Likelihood:
    """Return the label for a probability."""
    if probability >= LIKELY_FROM:
        return Likelihood.LIKELY
    return Likelihood.RELATED if probability >= RELATED_FROM else Likelihood.WEAK
