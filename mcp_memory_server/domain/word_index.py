"""Which texts share words with a question, and how much (BM25)."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcp_memory_server.domain.words import words

SATURATION = 1.2
LENGTH_WEIGHT = 0.75
NEGLIGIBLE = 0.05
"""A word with less than this share of what the question's words weigh on average does not change what is closest."""
SMALLEST_SIZE = 100
"""In a store of a few texts every word looks common. It is weighed as if the store had at least this many."""


@dataclass(frozen=True)
class WordIndex:
    """For each word the texts that hold it, by number, with the weight that it has there."""

    weights: Mapping[str, Sequence[tuple[int, float]]]
    size: int


def index_words(texts: Sequence[str]) -> WordIndex:
    """Build the index. Texts are numbered in their order."""
    counts = [Counter(words(text)) for text in texts]
    average = sum(count.total() for count in counts) / len(counts) if counts else 1.0
    postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for number, count in enumerate(counts):
        dampening = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * count.total() / (average or 1.0))
        for word, times in count.items():
            postings[word].append((number, times * (SATURATION + 1) / (times + dampening)))
    return WordIndex(postings, len(texts))


def closeness(index: WordIndex, question: str) -> dict[int, float]:
    """Return how close each text is to the question: 0 shares no word, about 1 shares all of them."""
    asked = set(words(question))
    rarity = {word: _rarity(index, word) for word in asked}
    total = sum(rarity.values())
    scores: defaultdict[int, float] = defaultdict(float)
    for word in asked:
        if rarity[word] < NEGLIGIBLE * total / len(asked):
            continue  # it is in almost every text, so it takes long to add up and tells nothing
        for number, weight in index.weights.get(word, ()):
            scores[number] += rarity[word] * weight / total
    return scores


def _rarity(index: WordIndex, word: str) -> float:
    holding = len(index.weights.get(word, ()))
    return math.log(1 + (max(index.size, SMALLEST_SIZE) - holding + 0.5) / (holding + 0.5))
