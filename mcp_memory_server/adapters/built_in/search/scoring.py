"""Scoring: how well documents answer a question, from what the index knows about them. Arrays in, arrays out.

A score is a sum. Words and meaning say how close a text is; they are absolute, and each counts about up to 1. The other
parts add what a text does not say itself. A single fact has no session and nobody beside it, so those parts are 0.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mcp_memory_server.adapters.built_in.search.columns import Numbers
from mcp_memory_server.domain.language.stop_words import ENGLISH
from mcp_memory_server.domain.language.word_forms import is_latin

SATURATION = 1.0
LENGTH_WEIGHT = 0.85
"""BM25: how soon repeating a word stops to count, and how much a long text has to repeat it."""

USUAL_COSINE = 0.12
"""Two texts that have nothing to do with each other are about so close in meaning."""

OTHER_LATIN = 0.5
"""The coarse model learned English. A language that shares names and many words with it counts so much beside fine
vectors (with 0 and with 1 German and Spanish lose a point); another script counts nothing."""

BEFORE_WEIGHT = 0.35
AFTER_WEIGHT = 0.25
STANDS_ALONE = 500
"""What a document borrows of the score of the one said before it and of the one after. "Yes, last week!" means nothing
without the question before it; a text of this many characters borrows a third of that, a long one nothing."""

SPEAKER_WEIGHT = 0.4
"""For a document by whom the question asks about."""
SESSION_WEIGHT = 0.2
"""For a document of the session that holds most of the question's words; less for the others."""
TIME_WEIGHT = 0.2
TIME_WEIGHT_OF_FACTS = 0.1
FADES_IN = 7 * 86400.0
"""For a document of the time that the question speaks of. A week away it is a third of that, in seconds."""


@dataclass(frozen=True)
class Parts:
    """What a score is made of, for the same rows."""

    words: Numbers
    meaning: Numbers
    neighbours: Numbers
    speaker: Numbers
    session: Numbers
    time: Numbers

    def total(self) -> Numbers:
        """Return the scores."""
        return self.words + self.meaning + self.neighbours + self.speaker + self.session + self.time

    def at(self, place: int) -> dict[str, float]:
        """Return the parts of one score, by their names."""
        return {name: round(float(values[place]), 4) for name, values in vars(self).items()}


def term_weights(counts: Numbers, lengths: Numbers, average: float) -> Numbers:
    """Return how much of a word each text has, from 0 to 1 for one that repeats it in few words."""
    dampening = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT / average * lengths)
    return counts / (counts + dampening)


def rarity(holding: int, size: int) -> float:
    """Return the weight of a word that so many of all texts hold."""
    return math.log1p((size - holding + 0.5) / (holding + 0.5))


def meaning(cosines: Numbers, has_vector: NDArray[np.bool_]) -> Numbers:
    """Return what closeness in meaning is worth; a text without a vector is as close as the others on average."""
    close = (cosines - USUAL_COSINE).astype(np.float32)
    if not has_vector.all():
        close[~has_vector] = close[has_vector].mean() if has_vector.any() else 0
    return close


def understood(text: str, language: str) -> float:
    """Return a factor for the coarse cosines of a text in this language, where it has a fine vector too."""
    if not is_latin(text):
        return 0.0
    return 1.0 if language == ENGLISH else OTHER_LATIN


def borrowed(before: Numbers, after: Numbers, characters: Numbers) -> Numbers:
    """Return what texts of these lengths borrow of the scores of those before and after them."""
    return np.exp(-characters / STANDS_ALONE) * (BEFORE_WEIGHT * before + AFTER_WEIGHT * after)


def nearness_in_time(moments: Numbers, start: float, end: float) -> Numbers:
    """Return 1 for moments within the span and less the further they lie outside."""
    outside = np.maximum(np.maximum(start - moments, moments - end), 0)
    return np.exp(-outside / FADES_IN).astype(np.float32)
