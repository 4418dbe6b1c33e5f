"""A memory that is opened by its settings behind DAX."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from mcp_memory_server import Memory, Scope, Settings, Statement, open_memory
from mcp_memory_server.adapters.opentelemetry.prometheus_page import PrometheusPage
from tests.dax_server.running import DaxCluster
from tests.stores.tables import DynamoDbTables

pytestmark = pytest.mark.anyio

ANA = Scope("ana")


@pytest.fixture
def address(shared_dax: DaxCluster, dynamodb_local_tables: DynamoDbTables) -> Iterator[str]:
    with dynamodb_local_tables.fresh() as behind:
        yield f"{shared_dax.url}/{behind.table}?region=eu-central-1&endpoint={quote(behind.endpoint, safe='')}"


async def learned_and_recalled(memory: Memory) -> list[str]:
    await memory.facts.learn(ANA, Statement("Ana lives in Bern.", topic="personal/city"))
    await memory.facts.learn(ANA, Statement("Ana lives in Basel.", topic="personal/city"))
    found = (await memory.recall.search(ANA, "Where does Ana live?")).memories
    return [one.text for one in found if not one.past]


async def test_a_read_has_the_own_writes_and_the_page_for_operators_the_paths(address: str) -> None:
    page = PrometheusPage()
    async with open_memory(Settings(table=address, sessions="none", outbox="none"), metrics=page.metrics) as memory:
        assert await learned_and_recalled(memory) == ["Ana lives in Basel."]
        await memory.context.load(ANA)

    shown = page.render().decode()
    assert 'dax_requests_total{operation="write",path="cluster"}' in shown
    assert 'dax_request_latency_ms_count{operation="read",path="direct"}' in shown
    assert 'dax_item_cache_reads_total{result="hit"}' in shown
    assert "dax_item_cache_hit_rate" in shown
    assert 'engine="dax"' in shown


async def test_a_memory_that_is_fresh_for_all_reads_nothing_from_the_cache(address: str) -> None:
    page = PrometheusPage()
    settings = Settings(table=f"{address}&fresh=all", sessions="none", outbox="none")
    async with open_memory(settings, metrics=page.metrics) as memory:
        assert await learned_and_recalled(memory) == ["Ana lives in Basel."]
        measured = page.render().decode()

    assert "dax_item_cache_reads_total" not in measured
