"""Where DAX is measured: a cluster over DynamoDB Local, and memories that tell which way their requests go."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from mcp_memory_server import Memory
from mcp_memory_server.adapters.dax.item_table import open_dax
from mcp_memory_server.adapters.dynamodb.item_table import open_dynamodb
from mcp_memory_server.ports.metric_catalogue import DAX_ITEM_CACHE_READS, DAX_LATENCY, Metric
from mcp_memory_server.wiring import SessionBackends, running
from mcp_memory_server.wiring.searching import BACKGROUND_THREAD
from tests.dax_server.running import DaxCluster

PATIENCE = timedelta(seconds=30)


@dataclass(frozen=True)
class DaxStage:
    """The engines, and the table in them."""

    cluster: DaxCluster
    endpoint: str
    table: str


class Ways:
    """Metrics that count requests by path, and what the item cache had."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.cache: Counter[str] = Counter()
        self.seconds: dict[tuple[str, str], list[float]] = defaultdict(list)

    def record(self, metric: Metric, value: float, **labels: str) -> None:
        if threading.current_thread().name == BACKGROUND_THREAD:
            return  # what nobody waits for may come at any time
        if metric is DAX_LATENCY:
            self.requests[labels["path"]] += 1
            self.seconds[labels["operation"], labels["path"]].append(value / 1000)
        if metric is DAX_ITEM_CACHE_READS:
            self.cache[labels["result"]] += 1

    async def of(self, work: Callable[[], Awaitable[object]]) -> tuple[int, int, int]:
        """Do it, and return how many requests went to the cluster, how many of them its cache had, and how many went
        around it."""
        cluster, hits, table = self.requests["cluster"], self.cache["hit"], self.requests["direct"]
        await work()
        return self.requests["cluster"] - cluster, self.cache["hit"] - hits, self.requests["direct"] - table


@asynccontextmanager
async def memory_through_dax(stage: DaxStage, ways: Ways, *, near: bool = True) -> AsyncGenerator[Memory]:
    """Run a memory as one more process would, without a session cache: what is not in Redis shows."""
    now = datetime.now(UTC)
    table = open_dax(stage.cluster.url, stage.table, endpoint=stage.endpoint, deadline=PATIENCE, metrics=ways)
    nearby = table.cached_reads() if near else table
    async with running(table, SessionBackends(), now=lambda: now, monotonic=lambda: 0.0, near=nearby) as memory:
        yield memory
    await table.close()


@asynccontextmanager
async def memory_without_dax(stage: DaxStage) -> AsyncGenerator[Memory]:
    """Run a memory on the table alone."""
    table = open_dynamodb(stage.table, endpoint=stage.endpoint, deadline=PATIENCE)
    async with running(table, SessionBackends(), monotonic=time.monotonic) as memory:
        yield memory
    await table.close()
