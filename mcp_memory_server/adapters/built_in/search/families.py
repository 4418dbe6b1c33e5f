"""Families: kinds of documents whose scores are made differently, and what a score says about the answer.

How high a score is says little by itself: the closest of 10,000 unrelated memories is closer than the closest of ten,
and a name that most memories share lifts them all. So a score is compared with what the best of so many unrelated
documents would reach by chance, which follows from the mean and the spread of the scores of this very question. What
lies above it is evidence, in stores of any size; a logistic curve, fitted for each family on the development data,
makes a probability of it (`python -m tests.bench.recall.calibration`).
"""

import math
from dataclasses import dataclass

import numpy as np

from mcp_memory_server.adapters.built_in.search.columns import Numbers
from mcp_memory_server.domain.recall.documents import ScoreSample

PRIOR_DOCUMENTS = 10
"""The usual mean and spread of a family count as much as the scores of so many documents: a store may hold five."""
TAIL = 0.9
"""The best of n unrelated documents lies about so many spreads times the logarithm of n above the mean: high scores are
rare, but not as rare as those of a normal distribution."""
MOST_ABOVE_USUAL = 3.0
"""A mean is not taken to lie more than so many spreads above the usual one: of 40 books that are all asked for, each is
an answer, although none of them stands out."""


@dataclass(frozen=True)
class Family:
    """What a share of the question's words and a cosine of each model count, and the curve of the probability.

    ``relative`` is how much of the chance level is taken off a score: with 1 only what lies above chance counts, with 0
    only the score itself. ``prior`` is how much the general worth of a document moves its score.
    """

    words: float
    coarse: float
    fine: float
    usual_mean: float
    usual_spread: float
    relative: float
    slope: float
    bias: float
    prior: float

    def chance(self, sample: ScoreSample, size: float) -> float:
        """Return what the best of so many unrelated documents would score, judged by a sample of the scores."""
        counted = sample.documents + PRIOR_DOCUMENTS
        mean = (sample.total + PRIOR_DOCUMENTS * self.usual_mean) / counted
        squares = sample.squares - 2 * mean * sample.total + sample.documents * mean**2
        squares = max(squares, 0.0) + PRIOR_DOCUMENTS * self.usual_spread**2
        mean = min(mean, self.usual_mean + MOST_ABOVE_USUAL * self.usual_spread)
        return mean + math.sqrt(squares / counted) * TAIL * math.log(size + 1)

    @staticmethod
    def sampled(scores: Numbers) -> ScoreSample:
        """Return a sample of scores."""
        wide = scores.astype(np.float64)
        return ScoreSample(len(wide), float(wide.sum()), float(np.square(wide).sum()))

    def evidence(self, scores: Numbers, chance: float) -> Numbers:
        """Return the logarithm of the odds that documents with these scores answer."""
        return self.slope * (scores - self.relative * chance) + self.bias


TURN = Family(
    words=1.0, coarse=1.0, fine=0.0, usual_mean=0.4, usual_spread=0.25, relative=0.35, slope=5.4, bias=-4.3, prior=2.0
)
"""A turn of a conversation: it also borrows from its neighbours, its speaker, its session and its time."""
FACT = Family(
    words=0.7, coarse=1.0, fine=0.0, usual_mean=0.02, usual_spread=0.1, relative=1.0, slope=8.5, bias=-0.6, prior=0.3
)
"""A memory of its own that has no fine vector yet, or cannot have one."""
FINE_FACT = Family(
    words=0.15, coarse=0.4, fine=1.0, usual_mean=0.12, usual_spread=0.1, relative=1.0, slope=14.0, bias=0.5, prior=0.1
)
"""A memory of its own with a fine vector. Its meaning says most; words and the coarse vector add to it."""

FAMILIES = (TURN, FACT, FINE_FACT)
OF_TURNS, OF_FACTS, OF_FINE_FACTS = range(len(FAMILIES))
"""The numbers of the families."""
