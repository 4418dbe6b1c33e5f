"""Conversations that more is written to than one partition of the table takes: in how many they lie, and where a turn.

A turn's partition follows from its id and from how many partitions there are. Doubling them moves no turn that is
there: a turn lies where it was put, and every reader reads all partitions. A turn can lie only in one of a few places,
whoever put it and however many partitions that one knew.
"""

import zlib

MOST_PARTITIONS = 64

_SECOND = 1.0


def partition_of(turn_id: str, partitions: int) -> int:
    """Return where to put a turn when there are so many partitions."""
    width = 1
    while width < partitions:
        width *= 2
    place = _number(turn_id) % width
    return place if place < partitions else place - width // 2


def possible_partitions(turn_id: str, partitions: int) -> list[int]:
    """Return where a turn may lie when there are so many partitions now, and were fewer before."""
    widths = [1]
    while widths[-1] < partitions:
        widths.append(widths[-1] * 2)
    places = {_number(turn_id) % width for width in widths}
    return sorted(place for place in places if place < partitions)


def _number(turn_id: str) -> int:
    return zlib.crc32(turn_id.encode())


class Pace:
    """How fast a session is written to: by this process in this second, and by all of them between two looks."""

    def __init__(self, hot_rate: int) -> None:
        self._hot_rate = hot_rate
        self._second = float("-inf")
        self._written = 0
        self._looked: tuple[int, float] | None = None
        self._rate = 0.0
        self._split = float("-inf")

    def wrote(self, moment: float) -> None:
        """Note that a turn is written now."""
        if moment - self._second >= _SECOND:
            self._second, self._written = moment, 0
        self._written += 1

    def saw(self, turns: int, moment: float) -> None:
        """Note how many turns have been counted, by everybody."""
        before, when = self._looked or (turns, moment)
        self._rate = max(0, turns - before) / max(_SECOND, moment - when)
        self._looked = turns, moment

    def takes_more(self, partitions: int, moment: float) -> bool:
        """Return whether it is time for more partitions; if so, it is not again before a second is over."""
        if partitions >= MOST_PARTITIONS or moment - self._split < _SECOND:
            return False
        if max(self._written, self._rate) <= self._hot_rate * partitions:
            return False
        self.split(moment)
        return True

    def split(self, moment: float) -> bool:
        """Note that there are to be more partitions; return False if that was done within the last second."""
        if moment - self._split < _SECOND:
            return False
        self._split, self._rate = moment, 0.0
        return True
