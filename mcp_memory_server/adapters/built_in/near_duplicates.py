"""Near duplicates: the same thing said again does not crowd out the rest."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial

from mcp_memory_server.adapters.built_in.postings import Postings

SAME = 0.9
"""Two documents with this share of their terms in common say the same, unless a number differs."""
FEWEST = 3
"""With fewer terms than this nothing is a repetition."""


def repetitions_last(places: Mapping[int, int], limit: int, postings: Postings) -> list[int]:
    """Return the places of the first rows, but of those that repeat an earlier one behind all others."""
    told: list[int] = []
    again: list[int] = []
    texts = _Texts(postings)
    for row, place in places.items():
        if texts.repeats(frozenset(postings.text_terms(row))):
            again.append(place)
            continue
        told.append(place)
        if len(told) == limit:
            break
    return [*told, *again][:limit]


class _Texts:
    """Texts by their terms. A short one repeats another only if all terms are the same, which is looked up."""

    def __init__(self, postings: Postings) -> None:
        self._postings = postings
        self._all: set[frozenset[int]] = set()
        self._long: defaultdict[int, list[frozenset[int]]] = defaultdict(list)

    def repeats(self, terms: frozenset[int]) -> bool:
        """Tell whether a text says the same as an earlier one; if not, later ones are held against it."""
        if len(terms) < FEWEST:
            return False
        if terms in self._all:
            return True
        if len(terms) * (1 - SAME) >= 1 and any(map(partial(self._same, terms), self._about_as_long(terms))):
            return True
        self._all.add(terms)
        self._long[len(terms)].append(terms)
        return False

    def _about_as_long(self, terms: frozenset[int]) -> Iterator[frozenset[int]]:
        for length in range(math.ceil(SAME * len(terms)), math.floor(len(terms) / SAME) + 1):
            yield from self._long.get(length, ())

    def _same(self, one: frozenset[int], other: frozenset[int]) -> bool:
        shared = len(one & other)
        is_same = shared >= SAME * (len(one) + len(other) - shared)
        return is_same and not any(map(self._postings.is_number, one ^ other))
