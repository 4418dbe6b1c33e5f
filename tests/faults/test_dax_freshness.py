"""Own writes are seen at once through a cluster whose nodes agree only after a while."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dax_server.running import DaxCluster, dax_cluster
from tests.faults.dax_reader import Task
from tests.faults.dax_readers import read_together
from tests.stores.tables import DynamoDbAddress

pytestmark = pytest.mark.anyio

PROGRAMS = 4
LAG = 0.3
WAITED = 2.0
"""Seconds: the lag, and what a busy machine adds to it."""
SIZES = [400, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]


@pytest.fixture
def lagging(dynamodb_table: DynamoDbAddress, tmp_path: Path) -> Iterator[DaxCluster]:
    with dax_cluster(dynamodb_table.endpoint, tmp_path / "dax.log", "--nodes", "2", "--lag", f"{LAG}") as cluster:
        yield cluster


@pytest.mark.parametrize("operations", SIZES)
async def test_no_read_misses_a_write_of_its_own_process(
    lagging: DaxCluster, dynamodb_table: DynamoDbAddress, operations: int
) -> None:
    task = Task(lagging.url, dynamodb_table.endpoint, dynamodb_table.table, 0, operations)

    saw = await read_together(task, PROGRAMS)

    print(f"\n{saw}\n{lagging.counts()}")
    assert saw.reads + saw.writes == operations
    assert saw.stale == 0
    assert saw.seconds < WAITED


@pytest.mark.parametrize("operations", SIZES)
async def test_without_the_rule_the_same_run_has_stale_reads(
    lagging: DaxCluster, dynamodb_table: DynamoDbAddress, operations: int
) -> None:
    task = Task(lagging.url, dynamodb_table.endpoint, dynamodb_table.table, 0, operations, rule=False)

    saw = await read_together(task, PROGRAMS)

    print(f"\n{saw}")
    assert saw.stale > 0


async def test_reads_around_the_cluster_miss_no_write_of_anybody(
    lagging: DaxCluster, dynamodb_table: DynamoDbAddress
) -> None:
    task = Task(lagging.url, dynamodb_table.endpoint, dynamodb_table.table, 0, 400, near=False)

    saw = await read_together(task, PROGRAMS)

    assert (saw.stale, saw.behind) == (0, 0)
