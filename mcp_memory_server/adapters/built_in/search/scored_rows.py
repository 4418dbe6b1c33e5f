"""Scored rows: what one question found in the index, and the odds that each row answers it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mcp_memory_server.adapters.built_in.search.columns import Numbers, Rows
from mcp_memory_server.adapters.built_in.search.families import FAMILIES, OF_TURNS
from mcp_memory_server.adapters.built_in.search.scoring import Parts
from mcp_memory_server.domain.recall.documents import ScoreSample, Statistics

Families = NDArray[np.int8]
"""Numbers of families, one for each row."""


@dataclass(frozen=True)
class Hit:
    """A row that was found: the odds that it answers (as a logarithm), and where its score comes from."""

    row: int
    odds: float
    place: int
    found: "ScoredRows"

    def moved_by(self, factor: float) -> float:
        """Return how much a factor of the general worth of the document moves its odds."""
        family = FAMILIES[self.found.families[self.place]]
        return family.slope * family.prior * (factor - 1)

    def parts(self) -> dict[str, float]:
        """Return the parts of its score, by their names."""
        return self.found.parts.at(self.place)


@dataclass(frozen=True)
class ScoredRows:
    """Rows with their families, the parts of their scores, and their odds."""

    rows: Rows
    families: Families
    parts: Parts
    odds: Numbers

    def best(self, limit: int) -> list[Hit]:
        """Return the rows with the highest odds, in no order."""
        places = np.arange(len(self.odds))
        if limit < len(places):
            places = np.argpartition(self.odds, -limit)[-limit:]
        return [Hit(int(self.rows[place]), float(self.odds[place]), int(place), self) for place in places]


def samples_of(scores: Numbers, families: Families, is_sample: NDArray[np.bool_]) -> tuple[ScoreSample, ...]:
    """Return how the rows score in general, by family; ``is_sample`` says which of them show how the store scores."""
    return tuple(family.sampled(scores[(families == number) & is_sample]) for number, family in enumerate(FAMILIES))


def odds_of(
    scores: Numbers, families: Families, samples: Sequence[ScoreSample], size: int, beside: Statistics, place: int
) -> Numbers:
    """Return the odds for the scores of one question, in a store of this size and what is ``beside`` it.

    ``place`` is the number of the question.
    """
    odds = np.zeros(len(scores), np.float32)
    turns = size * samples[OF_TURNS].documents / max(sum(sample.documents for sample in samples), 1)
    for number, (family, sample) in enumerate(zip(FAMILIES, samples, strict=True)):
        own = families == number
        if own.any():
            alike = turns + beside.in_sessions if number == OF_TURNS else size - turns + beside.alone
            others = beside.samples[place][number] if beside.samples else ScoreSample()
            together = sample + others
            odds[own] = family.evidence(scores[own], family.chance(together, alike))
    return odds


def best_of_each(found: Sequence[ScoredRows], limit: int) -> dict[int, Hit]:
    """Return the best hit for each row that one of several questions found.

    Several questions are several chances to be close by accident, so the odds of all are lowered by as much.
    """
    if len(found) == 1:
        return {hit.row: hit for hit in found[0].best(limit)}
    hits: dict[int, Hit] = {}
    chances = math.log(max(len(found), 1)) / 2
    for scored in found:
        for hit in scored.best(limit):
            if hit.row not in hits or hits[hit.row].odds < hit.odds - chances:
                hits[hit.row] = replace(hit, odds=hit.odds - chances)
    return hits
