"""Reads and writes that go on through a cluster while it fails, with a note of every call."""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

from mcp_memory_server.adapters.dax.item_table import DaxItemTable
from mcp_memory_server.domain.kernel.items import Item, Key, Put, Update, Write
from mcp_memory_server.errors import MemoryServerError
from mcp_memory_server.ports.metric_catalogue import DAX_REQUESTS, Metric

TALKERS = 4
BETWEEN = 0.02


class Paths:
    """Metrics that remember when which path was taken."""

    def __init__(self) -> None:
        self.taken: list[tuple[float, str, str]] = []

    def record(self, metric: Metric, value: float, **labels: str) -> None:  # noqa: ARG002
        if metric is DAX_REQUESTS:
            self.taken.append((time.monotonic(), labels["operation"], labels["path"]))

    async def wait_until(self, path: str, since: float) -> None:
        """Wait until reads and writes take this path again."""
        while any(self.seconds_until(kind, path, since) == float("inf") for kind in ("read", "write")):  # noqa: ASYNC110
            await asyncio.sleep(BETWEEN)

    def seconds_until(self, operation: str, path: str, since: float) -> float:
        """Return how long after this moment the path was first taken, infinity if it was not."""
        moments = (at for at, kind, way in self.taken if (kind, way) == (operation, path) and at >= since)
        return min(moments, default=float("inf")) - since


@dataclass
class Talk:
    """What was acknowledged, how long the longest call took, and what failed."""

    table: DaxItemTable
    raised: dict[Key, int] = field(default_factory=dict)
    put: dict[Key, str] = field(default_factory=dict)
    stale: int = 0
    longest: float = 0.0
    failures: list[str] = field(default_factory=list)

    async def go_on(self, over: asyncio.Event) -> None:
        """Let several talkers read and write until it is over."""
        await asyncio.gather(*(self._talk(number, over) for number in range(TALKERS)))

    async def lost(self) -> list[Key]:
        """Return the items that the table does not have as they were acknowledged: raised too little, or twice."""
        counted = {key: item.body["count"] for key, item in (await self.table.get_many(list(self.raised))).items()}
        texts = {key: item.body["text"] for key, item in (await self.table.get_many(list(self.put))).items()}
        wrong = [key for key, count in self.raised.items() if counted.get(key) != count]
        return wrong + [key for key, text in self.put.items() if texts.get(key) != text]

    async def _talk(self, number: int, over: asyncio.Event) -> None:
        near, counter, step = self.table.cached_reads(), Key("COUNTER", f"{number}"), 0
        while not over.is_set():
            step += 1
            if await self._call(self.table.update(Update(counter, add={"count": 1}))):
                self.raised[counter] = self.raised.get(counter, 0) + 1
            text, key = f"{number}/{step}", Key(f"TALK#{number}", f"{step:06d}")
            writes: list[Write] = [Put(key, {"text": text}, expected_version=0)]
            if await self._call(self.table.write(writes)):
                self.put[key] = text
            item = await self._call(near.get(counter))
            self.stale += isinstance(item, Item) and item.body["count"] != self.raised.get(counter)
            await asyncio.sleep(BETWEEN)

    async def _call(self, call: Awaitable[Any]) -> Any:
        began = time.monotonic()
        try:
            return await call or True
        except MemoryServerError as error:
            self.failures.append(f"{type(error).__name__}: {error}")
            return None
        finally:
            self.longest = max(self.longest, time.monotonic() - began)
