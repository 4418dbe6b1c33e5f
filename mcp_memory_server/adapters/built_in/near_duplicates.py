"""Near duplicates: the same thing said again does not crowd out the rest."""

import math
from collections import defaultdict
from collections.abc import Mapping

from mcp_memory_server.adapters.built_in.postings import Postings

SAME = 0.9
"""Two documents with this share of their terms in common say the same, unless a number differs."""
FEWEST = 3
"""With fewer terms than this nothing is a repetition."""


def repetitions_last(places: Mapping[int, int], limit: int, postings: Postings) -> list[int]:
    """Return the places of the first rows, but of those that repeat an earlier one behind all others."""
    told: list[int] = []
    again: list[int] = []
    # By their number of terms: only texts of about the same length can say the same.
    by_length: defaultdict[int, list[frozenset[int]]] = defaultdict(list)
    for row, place in places.items():
        terms = frozenset(postings.text_terms(row))
        if any(_same(terms, earlier, postings) for length in _lengths(terms) for earlier in by_length.get(length, ())):
            again.append(place)
            continue
        by_length[len(terms)].append(terms)
        told.append(place)
        if len(told) == limit:
            break
    return [*told, *again][:limit]


def _lengths(terms: frozenset[int]) -> range:
    """Return how many terms a text has that could say the same as these."""
    if len(terms) < FEWEST:
        return range(0)
    return range(math.ceil(SAME * len(terms)), math.floor(len(terms) / SAME) + 1)


def _same(one: frozenset[int], other: frozenset[int], postings: Postings) -> bool:
    shared = len(one & other)
    return shared >= SAME * (len(one) + len(other) - shared) and not any(map(postings.is_number, one ^ other))
