"""The caches of one node, and how what one node learns gets to the others."""

import heapq
import itertools
import threading
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Entry:
    """What is kept: an item, or that there is none; the result of a query. A later ``number`` is the newer one."""

    content: Any
    number: int


@dataclass(order=True)
class _OnItsWay:
    due: float
    number: int
    key: Hashable = field(compare=False)
    entry: Entry = field(compare=False)


class Cache:
    """Keeps entries for so many seconds from when they came, and those that are on their way until they are due."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._kept: dict[Hashable, tuple[Entry, float]] = {}
        self._coming: list[_OnItsWay] = []
        self._lock = threading.Lock()

    def get(self, key: Hashable, now: float) -> Entry | None:
        """Return what is kept under the key at this moment."""
        with self._lock:
            self._arrive(now)
            entry, until = self._kept.get(key, (None, 0.0))
            return entry if now < until else None

    def put(self, key: Hashable, entry: Entry, now: float, *, after: float = 0.0) -> None:
        """Keep the entry, so many seconds later, unless a newer one is there by then."""
        with self._lock:
            heapq.heappush(self._coming, _OnItsWay(now + after, entry.number, key, entry))
            self._arrive(now)

    def clear(self) -> None:
        """Forget everything, as a node does that was started anew."""
        with self._lock:
            self._kept.clear()
            self._coming.clear()

    def _arrive(self, now: float) -> None:
        while self._coming and self._coming[0].due <= now:
            coming = heapq.heappop(self._coming)
            kept, _ = self._kept.get(coming.key, (None, 0.0))
            if kept is None or kept.number <= coming.number:
                self._kept[coming.key] = coming.entry, coming.due + self.seconds


class KeyLocks:
    """One lock for each key, so that what is cached of it and what the table has of it change in the same order."""

    _LOCKS = 256

    def __init__(self) -> None:
        self._locks = [threading.Lock() for _ in range(self._LOCKS)]
        self._numbers = itertools.count(1)

    def number(self) -> int:
        """Return the number of the next entry."""
        return next(self._numbers)

    def of(self, keys: list[Hashable]) -> list[threading.Lock]:
        """Return the locks of these keys, in the order in which everybody takes them."""
        return [self._locks[place] for place in sorted({hash(key) % self._LOCKS for key in keys})]
