"""What operations cost behind DAX: the requests to the cluster, those that its cache answers, and those past it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.dax_day import ENOUGH, live_through
from tests.bench.dax_requests import Sent, requests_of_each
from tests.bench.dax_stage import DaxStage
from tests.dax_server.running import DaxCluster, dax_cluster
from tests.stores.tables import DynamoDbTables

pytestmark = pytest.mark.anyio


@pytest.fixture
def stage(shared_dax: DaxCluster, dynamodb_local_tables: DynamoDbTables) -> Iterator[DaxStage]:
    with dynamodb_local_tables.fresh() as behind:
        yield DaxStage(shared_dax, behind.endpoint, behind.table)


async def test_each_operation_sends_as_many_requests_as_the_page_for_operators_says(stage: DaxStage) -> None:
    assert await requests_of_each(stage) == {
        "load_context, again": Sent(cluster=1, from_cache=1, table=0),
        "recall, again": Sent(cluster=1, from_cache=1, table=0),
        "load_context after an own write": Sent(cluster=1, from_cache=1, table=1),
        "load_context after another process wrote": Sent(cluster=1, from_cache=1, table=1),
        "remember_fact, new topic": Sent(cluster=1, from_cache=0, table=1),
        "remember_fact, known topic": Sent(cluster=1, from_cache=0, table=3),
        "set_preference": Sent(cluster=1, from_cache=0, table=1),
        "active chat": Sent(cluster=0, from_cache=0, table=1),
        "load a session from the table": Sent(cluster=0, from_cache=0, table=1),
        "append a turn": Sent(cluster=1, from_cache=0, table=1),
    }


@pytest.mark.parametrize("users", [20, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
async def test_on_a_usual_day_most_reads_come_from_the_item_cache(
    dynamodb_local_tables: DynamoDbTables, tmp_path: Path, users: int
) -> None:
    with dynamodb_local_tables.fresh() as behind, dax_cluster(behind.endpoint, tmp_path / "log", "--nodes", "2") as dax:
        day, _ = await live_through(DaxStage(dax, behind.endpoint, behind.table), users)

    assert day.percent > ENOUGH
    assert day.cluster >= day.calls  # vectors, and how often memories were told, are written beside the calls
