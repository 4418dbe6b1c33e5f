"""Near duplicates: repetitions do not crowd out the rest."""

from collections.abc import Mapping, Sequence

from mcp_memory_server.adapters.built_in.search.columns import Rows
from mcp_memory_server.adapters.built_in.search.document_rows import DocumentRows

SAME = 0.9
"""Two documents with this share of their terms in common say the same, unless a number differs."""
FEWEST = 3
"""With fewer terms than this nothing is a repetition."""


def said_once(ranked: Sequence[int], statements: Mapping[int, int]) -> dict[int, list[int]]:
    """Return the rows that say something first, in their order, each with the others that say the very same."""
    firsts: dict[int, int] = {}
    said: dict[int, list[int]] = {}
    for one in ranked:
        first = firsts.setdefault(statements[one], one)
        if first == one:
            said[one] = []
        else:
            said[first].append(one)
    return said


def repetitions_last(rows: Rows, documents: DocumentRows) -> list[int]:
    """Return the places of the rows in their order, but of those that repeat an earlier one behind all others."""
    alike = documents.coarse.alike(rows)
    if not alike:
        return list(range(len(rows)))
    again: dict[int, None] = {}
    terms = [frozenset(documents.postings.text_terms(row)) for row in rows]
    numbers = [frozenset(filter(documents.postings.is_number, some)) for some in terms]
    for earlier, later in alike:
        # Compared first: lists of things that differ in a number have many pairs.
        if numbers[earlier] != numbers[later] or earlier in again or later in again:
            continue
        if _say_the_same(terms[earlier], terms[later]):
            again[later] = None
    return [*(place for place in range(len(rows)) if place not in again), *again]


def _say_the_same(first: frozenset[int], second: frozenset[int]) -> bool:
    return min(len(first), len(second)) >= FEWEST and len(first & second) >= SAME * len(first | second)
