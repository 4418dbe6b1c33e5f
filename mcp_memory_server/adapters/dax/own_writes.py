"""The last write of this process to each item, so that an older cached item is recognised and not served.

1. A write is recorded when DynamoDB or the cluster has acknowledged it, before the caller learns of it.
2. A write that was certainly refused (a conflict, an invalid request) leaves no record.
3. A write whose outcome is unknown, or that overlapped with another one to the same item, is recorded as uncertain: no
   cached item is served until a consistent read has shown what the table has.
4. A record is kept for as long as any node may serve what was there before.
5. Beyond MOST_KEYS the oldest record is dropped, and every cached item is treated as stale until it would have expired.

Versions cannot be compared instead: an item that was deleted and written anew starts again with version 1.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from mcp_memory_server.adapters.dynamodb.values import Row
from mcp_memory_server.domain.kernel.items import Key
from mcp_memory_server.errors import ConflictError, InvalidRequestError

MOST_KEYS = 100_000


@dataclass(frozen=True)
class LastWrite:
    """The newest state that is known of an item: written by ``operation``, or deleted (None), or uncertain."""

    operation: str | None
    until: float
    is_certain: bool = True

    def is_included_in(self, row: Row | None) -> bool:
        """Return whether the row includes this write: its operation is among the last ones of the row."""
        if not self.is_certain:
            return False
        if self.operation is None:
            return row is None
        return row is not None and row.version_after(self.operation) is not None


class OwnWrites:
    """The last write to each item, kept for ``seconds``. Any thread may use it."""

    def __init__(self, seconds: float, *, most: int = MOST_KEYS, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._lock = Lock()
        self._last: OrderedDict[Key, LastWrite] = OrderedDict()
        self._running: Counter[Key] = Counter()
        self._overlapping: set[Key] = set()
        self._all_stale_until = 0.0

    @contextmanager
    def writing(self, operations: Mapping[Key, str | None]) -> Generator[None]:
        """Record the writes of the block by their operation ids, None for a deletion (rules 1 to 3)."""
        self._begin(operations)
        made = uncertain = False
        try:
            yield
            made = True
        except (ConflictError, InvalidRequestError):  # nothing was written
            raise
        except BaseException:
            uncertain = True
            raise
        finally:
            self._end(operations, made=made, uncertain=uncertain)

    def last_write(self, key: Key) -> LastWrite | None:
        """Return the write that a cached item must include; None if any cached item will do."""
        with self._lock:
            now, last = self._clock(), self._last.get(key)
            if last is not None and now < last.until:
                return last
            return LastWrite(None, self._all_stale_until, is_certain=False) if now < self._all_stale_until else None

    def confirm(self, key: Key, row: Row | None, *, instead_of: LastWrite) -> None:
        """Record what a consistent read found, unless the item was written meanwhile."""
        operation = None if row is None else row.operations[0]
        with self._lock:
            if self._last.get(key) is instead_of and not self._running[key]:
                is_certain = row is None or operation is not None
                self._last[key] = LastWrite(operation, instead_of.until, is_certain)

    def _begin(self, operations: Mapping[Key, str | None]) -> None:
        with self._lock:
            for key in operations:
                self._running[key] += 1
                if self._running[key] > 1:  # their order in the table is unknown
                    self._overlapping.add(key)

    def _end(self, operations: Mapping[Key, str | None], *, made: bool, uncertain: bool) -> None:
        with self._lock:
            until = self._clock() + self._seconds
            for key, operation in operations.items():
                is_certain = made and key not in self._overlapping
                if made or uncertain:
                    self._last[key] = LastWrite(operation if is_certain else None, until, is_certain)
                    self._last.move_to_end(key)
                self._running[key] -= 1
                if not self._running[key]:
                    del self._running[key]
                    self._overlapping.discard(key)
            self._drop_old()

    def _drop_old(self) -> None:
        now = self._clock()
        while self._last:
            key, oldest = next(iter(self._last.items()))
            if now < oldest.until and len(self._last) <= self._most:
                break
            del self._last[key]
            # Rule 5: this one was dropped before it expired.
            if now < oldest.until:
                self._all_stale_until = max(self._all_stale_until, oldest.until)
