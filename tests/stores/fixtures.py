"""Tables on every engine, open to every test: each test gets a fresh one."""

from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.ports.item_table import ItemTable
from tests.clock import FakeClock
from tests.stores.sessions import new_scope
from tests.stores.tables import Address, DaxAddress, DynamoDbTables, SqliteAddress

TESTS = Path(__file__).parents[1]
ENGINES = ("sqlite", "dynamodb-local", "moto", "dax")
SLOW_THROUGH_DAX = {
    "contract/item_table/test_index.py",
    "contract/item_table/test_model.py",
    "contract/item_table/test_pages.py",
    "contract/item_table/test_query.py",
    "contract/item_table/test_values.py",
    "services/conversations/test_conversations_on_every_engine.py",
}
"""What mostly goes around the cluster, or has very many cases."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        called_with = getattr(item, "callspec", None)
        through_dax = called_with is not None and called_with.params.get("table_address") == "dax"
        if through_dax and item.path.relative_to(TESTS).as_posix() in SLOW_THROUGH_DAX:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def dynamodb_local_tables(dynamodb_local_endpoint: str) -> Iterator[DynamoDbTables]:
    with closing(DynamoDbTables(dynamodb_local_endpoint)) as tables:
        yield tables


@pytest.fixture(scope="session")
def moto_tables(moto_endpoint: str) -> Iterator[DynamoDbTables]:
    with closing(DynamoDbTables(moto_endpoint)) as tables:
        yield tables


@pytest.fixture(params=ENGINES)
def table_address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Address]:
    if request.param == "sqlite":
        yield SqliteAddress(tmp_path / "memory.db")
        return
    if request.param == "dax":
        cluster = request.getfixturevalue("shared_dax")
        local: DynamoDbTables = request.getfixturevalue("dynamodb_local_tables")
        with local.fresh() as behind:
            yield DaxAddress(cluster.url, behind.endpoint, behind.table, near=True)
        return
    tables: DynamoDbTables = request.getfixturevalue(f"{request.param.replace('-', '_')}_tables")
    with tables.fresh() as address:
        yield address


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> str:
    """The engine of this test, for the few promises that one of them cannot show."""
    return request.node.callspec.params["table_address"]


@pytest.fixture
async def item_table(table_address: Address, clock: FakeClock) -> AsyncIterator[ItemTable]:
    table = await table_address.open(clock)
    yield table
    await table.close()


@pytest.fixture
def scope() -> Scope:
    """A session of a user whom no other test knows."""
    return new_scope()
