"""The hit rate of a cache over the last minutes."""

import threading
from collections import Counter

WINDOW_MINUTES = 5


class RecentReads:
    """Counts hits and misses by the minute and forgets those before the window. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hits: Counter[int] = Counter()
        self._reads: Counter[int] = Counter()

    def add(self, *, hit: bool, seconds: float) -> float:
        """Count a read at a monotonic time, and return how many percent of those in the window were hits."""
        minute = int(seconds // 60)
        with self._lock:
            self._reads[minute] += 1
            self._hits[minute] += hit
            for past in [counted for counted in self._reads if counted <= minute - WINDOW_MINUTES]:
                del self._reads[past], self._hits[past]
            return 100 * self._hits.total() / self._reads.total()
