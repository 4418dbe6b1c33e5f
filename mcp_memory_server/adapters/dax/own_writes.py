"""What this process wrote lately, so that an older copy of it is recognised."""

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
class Seen:
    """The newest that is known of an item: the operation that wrote it, or that it is gone; or, unsure, neither."""

    operation: str | None
    until: float
    is_sure: bool = True

    def is_in(self, row: Row | None) -> bool:
        """Tell whether a copy is as new as that: the operation is among the last ones of the row."""
        if not self.is_sure:
            return False
        if self.operation is None:
            return row is None
        return row is not None and row.version_after(self.operation) is not None


class OwnWrites:
    """Remembers the last write to each item for as long as a cache may keep what was there before.

    Versions alone would not do: an item that was removed and made anew begins again with version 1.
    Any thread may use it.
    """

    def __init__(self, seconds: float, *, most: int = MOST_KEYS, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._lock = Lock()
        self._seen: OrderedDict[Key, Seen] = OrderedDict()
        self._running: Counter[Key] = Counter()
        self._mixed: set[Key] = set()
        self._nothing_before = 0.0

    @contextmanager
    def writing(self, operations: Mapping[Key, str | None]) -> Generator[None]:
        """Note the writes that are made in the block, None for a removal, before anybody is told of them."""
        self._begin(operations)
        made = unsure = False
        try:
            yield
            made = True
        except (ConflictError, InvalidRequestError):  # nothing was written
            raise
        except BaseException:
            unsure = True
            raise
        finally:
            self._end(operations, made=made, unsure=unsure)

    def newest(self, key: Key) -> Seen | None:
        """Return what a copy of the item has to be as new as; None if any copy will do."""
        with self._lock:
            now, seen = self._clock(), self._seen.get(key)
            if seen is not None and now < seen.until:
                return seen
            return Seen(None, self._nothing_before, is_sure=False) if now < self._nothing_before else None

    def read(self, key: Key, row: Row | None, *, instead_of: Seen) -> None:
        """Note what the table itself has, unless something was written meanwhile."""
        operation = None if row is None else row.operations[0]
        with self._lock:
            if self._seen.get(key) is instead_of and not self._running[key]:
                is_sure = row is None or operation is not None
                self._seen[key] = Seen(operation, instead_of.until, is_sure)

    def _begin(self, operations: Mapping[Key, str | None]) -> None:
        with self._lock:
            for key in operations:
                self._running[key] += 1
                if self._running[key] > 1:  # nobody knows in which order the table makes them
                    self._mixed.add(key)

    def _end(self, operations: Mapping[Key, str | None], *, made: bool, unsure: bool) -> None:
        with self._lock:
            until = self._clock() + self._seconds
            for key, operation in operations.items():
                is_sure = made and key not in self._mixed
                if made or unsure:
                    self._seen[key] = Seen(operation if is_sure else None, until, is_sure)
                    self._seen.move_to_end(key)
                self._running[key] -= 1
                if not self._running[key]:
                    del self._running[key]
                    self._mixed.discard(key)
            self._forget_some()

    def _forget_some(self) -> None:
        now = self._clock()
        while self._seen:
            key, oldest = next(iter(self._seen.items()))
            if now < oldest.until and len(self._seen) <= self._most:
                break
            del self._seen[key]
            # What is forgotten too early makes every copy doubtful until it would have been forgotten anyway.
            if now < oldest.until:
                self._nothing_before = max(self._nothing_before, oldest.until)
