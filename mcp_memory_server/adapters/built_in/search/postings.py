"""Postings: for each term the rows that hold it, and how often."""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

import numpy as np

from mcp_memory_server.adapters.built_in.search.columns import Numbers, Rows

_COUNT_BITS = 8
_HIGHEST_COUNT = (1 << _COUNT_BITS) - 1
"""A term counts no oftener in one document. The rest of the 32 bits is the row: up to 16 million."""


class Postings:
    """The terms of every document. Writing and removing one costs as much as it has terms."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._lists: list[array[int]] = []
        self._terms: dict[int, array[int]] = {}
        self._in_text: dict[int, int] = {}
        self._is_number = bytearray()

    def add(self, row: int, text: Sequence[str], context: Sequence[str]) -> None:
        """Write the terms of a row that has none so far: those of its text, then those of its context."""
        counts = Counter(text)
        self._in_text[row] = len(counts)
        counts.update(context)
        numbers = array("I", [self._number(term) for term in counts])
        for number, count in zip(numbers, counts.values(), strict=True):
            found = self._lists[number]
            entry = row << _COUNT_BITS | min(count, _HIGHEST_COUNT)
            if not found or found[-1] < entry:
                found.append(entry)
            else:
                found.insert(bisect_left(found, entry), entry)
        self._terms[row] = numbers

    def remove(self, row: int) -> None:
        """Remove all terms of a row."""
        del self._in_text[row]
        for number in self._terms.pop(row):
            found = self._lists[number]
            del found[bisect_left(found, row << _COUNT_BITS)]

    def holding(self, terms: Sequence[str]) -> tuple[Rows, Numbers, list[int]]:
        """Return the rows that hold each term, one term after the other, how often they do, and how many rows each has.

        The terms must be known.
        """
        lists = [self._lists[self._numbers[term]] for term in terms]
        packed = np.concatenate(lists, dtype=np.uint32)
        return packed >> _COUNT_BITS, (packed & _HIGHEST_COUNT).astype(np.float32), [len(found) for found in lists]

    def holders(self, terms: Sequence[str]) -> int:
        """Return how many rows hold the terms. Few hold two forms of a word, and those count twice."""
        return sum(len(self._lists[self._numbers[term]]) for term in terms)

    def text_terms(self, row: int) -> "array[int]":
        """Return the numbers of the different terms of a row's text."""
        return self._terms[row][: self._in_text[row]]

    def is_number(self, term: int) -> bool:
        """Return whether, of the number of a term, the term itself is digits."""
        return bool(self._is_number[term])

    def knows(self, term: str) -> bool:
        """Return whether a document holds the term."""
        number = self._numbers.get(term)
        return number is not None and bool(self._lists[number])

    def _number(self, term: str) -> int:
        number = self._numbers.setdefault(term, len(self._numbers))
        if number == len(self._lists):
            self._lists.append(array("I"))
            self._is_number.append(term.isdigit())
        return number
