"""Near duplicates: the same thing said again does not crowd out the rest."""

from collections.abc import Mapping

from mcp_memory_server.adapters.built_in.postings import Postings

SAME = 0.9
"""Two documents with this share of their terms in common say the same, unless a number differs."""
FEWEST = 3
"""With fewer terms than this nothing is a repetition."""


def repetitions_last(places: Mapping[int, int], limit: int, postings: Postings) -> list[int]:
    """Return the places of the first rows, but of those that repeat an earlier one behind all others."""
    told: dict[int, frozenset[int]] = {}
    again: list[int] = []
    for row, place in places.items():
        terms = frozenset(postings.text_terms(row))
        if any(_same(terms, earlier, postings) for earlier in told.values()):
            again.append(place)
        else:
            told[place] = terms
        if len(told) == limit:
            break
    return [*told, *again][:limit]


def _same(one: frozenset[int], other: frozenset[int], postings: Postings) -> bool:
    if len(one) < SAME * len(other) or len(other) < SAME * len(one) or len(one) < FEWEST:
        return False
    shared = len(one & other)
    return shared >= SAME * (len(one) + len(other) - shared) and not any(map(postings.is_number, one ^ other))
