"""Sessions: which documents belong to one conversation, and which stand next to each other in it."""

from bisect import bisect_left, insort

import numpy as np

from mcp_memory_server.adapters.built_in.search.columns import Numbers, Rows, with_room

ALONE = 0
"""The number of no session."""
NOBODY = -1
"""The row that stands beside the first and the last document of a session."""

_Place = tuple[float, int, int]
"""When a document was said, when it came to the index, and its row."""


class Sessions:
    """The order of documents within their sessions: by the time at which they were said, then as they were added."""

    def __init__(self) -> None:
        self.number_of = np.empty(0, np.int32)
        self.before = np.empty(0, np.int32)
        self.after = np.empty(0, np.int32)
        self._numbers: dict[str, int] = {}
        self._places: list[list[_Place]] = [[]]
        self._lengths = np.zeros(1, np.float32)
        self._place_of: dict[int, _Place] = {}
        self._added = 0

    @property
    def size(self) -> int:
        """How many documents are in a session."""
        return len(self._place_of)

    def add(self, row: int, session: str | None, at: float, length: int) -> None:
        """Put a row into its session; ``length`` is how many terms it has."""
        self.number_of, self.before, self.after = (
            with_room(column, row) for column in (self.number_of, self.before, self.after)
        )
        self.number_of[row], self.before[row], self.after[row] = self._number(session), NOBODY, NOBODY
        if session is None:
            return
        self._added += 1
        self._place_of[row] = (at, self._added, row)
        insort(self._places[self.number_of[row]], self._place_of[row])
        self._lengths[self.number_of[row]] += length
        self._join(row)

    def remove(self, row: int, length: int) -> None:
        """Take a row out of its session. Its neighbours become neighbours."""
        if self.number_of[row] == ALONE:
            return
        places = self._places[self.number_of[row]]
        del places[bisect_left(places, self._place_of.pop(row))]
        self._lengths[self.number_of[row]] -= length
        self._link(int(self.before[row]), int(self.after[row]))

    def beside(self, row: int, reach: int) -> tuple[list[int], list[int]]:
        """Return up to so many rows before and after one, the nearest first."""
        return _along(self.before, row, reach), _along(self.after, row, reach)

    def lengths(self) -> Numbers:
        """Return how many terms each session has, by its number."""
        return self._lengths[: len(self._places)]

    def _join(self, row: int) -> None:
        places = self._places[self.number_of[row]]
        here = bisect_left(places, self._place_of[row])
        self._link(places[here - 1][-1] if here else NOBODY, row)
        self._link(row, places[here + 1][-1] if here + 1 < len(places) else NOBODY)

    def _link(self, earlier: int, later: int) -> None:
        if earlier != NOBODY:
            self.after[earlier] = later
        if later != NOBODY:
            self.before[later] = earlier

    def _number(self, session: str | None) -> int:
        if session is None:
            return ALONE
        number = self._numbers.setdefault(session, len(self._places))
        if number == len(self._places):
            self._places.append([])
            self._lengths = with_room(self._lengths, number)
        return number


def _along(column: Rows, row: int, reach: int) -> list[int]:
    found: list[int] = []
    while len(found) < reach and (row := int(column[row])) != NOBODY:
        found.append(row)
    return found
