"""A cluster that is stopped, hangs or dies in the middle of a run costs time, and nothing else."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from datetime import timedelta

import pytest

from mcp_memory_server.adapters.dax.item_table import DaxItemTable, open_dax
from mcp_memory_server.adapters.dynamodb.item_table import DEADLINE
from tests.dax_server.running import DaxCluster
from tests.faults.dax_talk import Paths, Talk
from tests.stores.tables import DynamoDbAddress

pytestmark = pytest.mark.anyio

BACK_WITHIN = 30.0
A_LITTLE = 0.5
"""Seconds that a busy machine may add to a deadline, which is on a clock of its own."""

Trouble = Callable[[DaxCluster], None]
TROUBLES: dict[str, tuple[Trouble, Trouble]] = {
    "stopped": (DaxCluster.stop, DaxCluster.start),
    "hung": (DaxCluster.hang, DaxCluster.resume),
    "killed": (DaxCluster.kill, DaxCluster.start),
    "leader hung": (lambda cluster: cluster.hang(node=0), lambda cluster: cluster.resume(node=0)),
    "leader killed": (lambda cluster: cluster.kill(node=0), lambda cluster: cluster.start(node=0)),
    "replica killed": (lambda cluster: cluster.kill(node=1), lambda cluster: cluster.start(node=1)),
    "replies lost": (lambda cluster: cluster.drop(5), lambda cluster: cluster.drop(0)),
}
QUICK = ("hung", "killed")


@pytest.fixture
def paths() -> Paths:
    return Paths()


@pytest.fixture
async def table(own_dax: DaxCluster, dynamodb_table: DynamoDbAddress, paths: Paths) -> AsyncIterator[DaxItemTable]:
    table = open_dax(own_dax.url, dynamodb_table.table, endpoint=dynamodb_table.endpoint, metrics=paths)
    yield table
    await table.close()


@pytest.mark.parametrize(
    ("trouble", "seconds"),
    [
        *((trouble, 1.5) for trouble in QUICK),
        *(pytest.param(trouble, 10.0, marks=pytest.mark.slow) for trouble in TROUBLES),
    ],
)
async def test_no_call_fails_no_write_is_lost_and_the_cluster_is_used_again(
    own_dax: DaxCluster, table: DaxItemTable, paths: Paths, trouble: str, seconds: float
) -> None:
    talk, over, (begins, ends) = Talk(table), asyncio.Event(), TROUBLES[trouble]
    talking = asyncio.create_task(talk.go_on(over))
    await asyncio.sleep(1)
    began = time.monotonic()

    begins(own_dax)
    await asyncio.sleep(seconds)
    ends(own_dax)
    ended = time.monotonic()
    async with asyncio.timeout(BACK_WITHIN):
        await paths.wait_until("cluster", ended)
    over.set()
    await talking

    back = {kind: paths.seconds_until(kind, "cluster", ended) for kind in ("read", "write")}
    fallbacks = sum(path == "fallback" for at, _, path in paths.taken if at >= began)
    print(f"\n{trouble}: {len(paths.taken)} requests, {fallbacks} past, longest {talk.longest:.2f} s, back {back}")
    assert talk.failures == []
    assert timedelta(seconds=talk.longest) <= DEADLINE + timedelta(seconds=A_LITTLE)
    assert await talk.lost() == []
    assert talk.stale == 0
    assert fallbacks > 0 or trouble == "replica killed"
