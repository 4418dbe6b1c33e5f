"""Near duplicates: repetitions do not crowd out the rest."""

from collections.abc import Mapping, Sequence

from mcp_memory_server.adapters.built_in.search.columns import Rows
from mcp_memory_server.adapters.built_in.search.document_rows import DocumentRows
from mcp_memory_server.adapters.built_in.search.postings import Postings

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
    again: dict[int, None] = {}
    for earlier, later in documents.coarse.alike(rows):
        is_settled = earlier in again or later in again
        if not is_settled and _say_the_same(documents.postings, rows[earlier], rows[later]):
            again[later] = None
    return [*(place for place in range(len(rows)) if place not in again), *again]


def _say_the_same(postings: Postings, one: int, other: int) -> bool:
    first, second = set(postings.text_terms(one)), set(postings.text_terms(other))
    if min(len(first), len(second)) < FEWEST:
        return False
    is_same = len(first & second) >= SAME * len(first | second)
    return is_same and not any(map(postings.is_number, first ^ second))
