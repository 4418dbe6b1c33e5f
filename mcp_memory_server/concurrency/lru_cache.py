"""One LRU cache: bounded by the number of its entries, and by their total weight where that matters."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Keeps the entries used last. Used from any thread.

    When there are too many, the entry used least recently is evicted, but never the one used last. Functions that are
    passed in run while the cache is locked: they must be quick, and must not use the cache.
    """

    def __init__(
        self,
        most: int,
        *,
        weight: Callable[[V], int] | None = None,
        most_weight: int = 0,
        may_evict: Callable[[V], bool] | None = None,
        on_evict: Callable[[K, V], object] | None = None,
    ) -> None:
        """With ``weight``, the entries together weigh ``most_weight`` at most; an entry weighs what it did when put.

        Entries that ``may_evict`` refuses stay, even if there are too many then.
        """
        self._most = most
        self._weight = weight
        self._most_weight = most_weight
        self._may_evict = may_evict
        self._on_evict = on_evict
        self._lock = Lock()
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._weights: dict[K, int] = {}
        self._total_weight = 0

    def get(self, key: K) -> V | None:
        """Return the value, now the one used last; None if there is none."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def get_or_add(self, key: K, new: Callable[[], V]) -> V:
        """Return the value, now the one used last, adding a new one if there is none."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            else:
                self._put(key, new())
            return self._entries[key]

    def put(self, key: K, value: V) -> None:
        """Set the value."""
        with self._lock:
            self._put(key, value)

    def update(self, key: K, change: Callable[[V | None], V]) -> V:
        """Set the value to what ``change`` makes of the present one, which no other thread changes meanwhile."""
        with self._lock:
            value = change(self._entries.get(key))
            self._put(key, value)
            return value

    def pop(self, key: K) -> V | None:
        """Remove the entry and return its value; None if there is none."""
        with self._lock:
            self._weigh(key, 0)
            return self._entries.pop(key, None)

    def weigh_again(self, key: K, value: V) -> None:
        """Note what the value weighs now. A no-op if it is not in the cache any more."""
        with self._lock:
            if self._weight is not None and self._entries.get(key) is value:
                self._weigh(key, self._weight(value))
                self._evict()

    def items(self) -> list[tuple[K, V]]:
        """Return the entries, the one used least recently first. None of them counts as used by that."""
        with self._lock:
            return list(self._entries.items())

    def __contains__(self, key: K) -> bool:
        with self._lock:
            return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def _put(self, key: K, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if self._weight is not None:
            self._weigh(key, self._weight(value))
        self._evict()

    def _weigh(self, key: K, weight: int) -> None:
        self._total_weight += weight - self._weights.pop(key, 0)
        if weight:
            self._weights[key] = weight

    def _evict(self) -> None:
        while len(self._entries) > self._most or (self._weight is not None and self._total_weight > self._most_weight):
            victim = self._victim()
            if victim is None:
                break
            value = self._entries.pop(victim)
            self._weigh(victim, 0)
            if self._on_evict is not None:
                self._on_evict(victim, value)

    def _victim(self) -> K | None:
        used_last = next(reversed(self._entries))
        for key, value in self._entries.items():
            if key != used_last and (self._may_evict is None or self._may_evict(value)):
                return key
        return None
