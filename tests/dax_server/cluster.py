"""A cluster: what its nodes share, and what they tell each other."""

import hashlib
import hmac
import itertools
import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from tests.dax_server.caches import Cache, Entry, KeyLocks
from tests.dax_server.table import Table

ITEM_SECONDS = QUERY_SECONDS = 300.0
"""For how long the service keeps items and results of queries unless it is told otherwise."""

UNKNOWN = object()
"""In the place of an item: what is there has to be read again."""

NO_NAMES = 1
"""The number of the empty list of names, in every cluster."""


@dataclass(frozen=True)
class Options:
    """How a cluster behaves. ``lag`` is how many seconds later the other nodes know what one of them learned, and how
    long it takes until the items of a transaction are read again."""

    endpoint: str
    region: str
    nodes: int = 1
    item_seconds: float = ITEM_SECONDS
    query_seconds: float = QUERY_SECONDS
    lag: float = 0.0
    access_key: str = "testing"
    secret_key: str = "testing"
    certificate: str | None = None


class Clock:
    """The time of the caches. It can be set forward, so that nobody waits for an item to grow old."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self._ahead

    def advance(self, seconds: float) -> None:
        self._ahead += seconds


class AttributeLists:
    """Lists of attribute names and their numbers, the same on every node, for as long as the cluster lives."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, ...], int] = {(): NO_NAMES}
        self._names: dict[int, tuple[str, ...]] = {NO_NAMES: ()}
        self._next = itertools.count(NO_NAMES + 1)
        self._lock = threading.Lock()

    def number(self, names: tuple[str, ...]) -> int:
        with self._lock:
            if names not in self._numbers:
                number = next(self._next)
                self._numbers[names], self._names[number] = number, names
            return self._numbers[names]

    def names(self, number: int) -> tuple[str, ...]:
        return self._names[number]


class NodeCaches:
    """What one node keeps."""

    def __init__(self, options: Options) -> None:
        self.items = Cache(options.item_seconds)
        self.queries = Cache(options.query_seconds)

    def clear(self) -> None:
        self.items.clear()
        self.queries.clear()


class Shared:
    """What the nodes share: the table, the clock, the lists of names, and who learns what when."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.counts: Counter[str] = Counter()
        self.table = Table(options.endpoint, options.region, self.counts)
        self.clock = Clock()
        self.lists = AttributeLists()
        self.caches = [NodeCaches(options) for _ in range(options.nodes)]
        self.lag = options.lag
        self._locks = KeyLocks()

    @contextmanager
    def holding(self, keys: Sequence[Hashable]) -> Iterator[None]:
        """Let nobody else change what is cached of these keys, nor write them through this cluster."""
        with ExitStack() as held:
            for lock in self._locks.of(list(keys)):
                held.enter_context(lock)
            yield

    def item_learned(self, node: int, key: Hashable, item: Any, *, in_background: bool = False) -> None:
        """Note what an item is now: at once on this node unless it is told in the background, later on the others."""
        self._learned("items", node, key, item, in_background=in_background)

    def result_learned(self, node: int, key: Hashable, result: Any) -> None:
        """Note the result of a query."""
        self._learned("queries", node, key, result, in_background=False)

    def is_authentic(self, access_key: str, signature: str, signed: bytes) -> bool:
        """Tell whether these words were signed with the secret key that belongs to the access key."""
        _, _, scope, *_ = signed.decode().split("\n")
        key = b"AWS4" + self.options.secret_key.encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), hashlib.sha256)
        expected = hmac.new(key, signed, hashlib.sha256).hexdigest()
        return access_key == self.options.access_key and hmac.compare_digest(signature, expected)

    def _learned(self, cache: str, node: int, key: Hashable, content: Any, *, in_background: bool) -> None:
        entry, now = Entry(content, self._locks.number()), self.clock()
        for number, caches in enumerate(self.caches):
            at_once = number == node and not in_background
            getattr(caches, cache).put(key, entry, now, after=0.0 if at_once else self.lag)
