"""One table for every engine; each test gets a fresh one, and a clock that it may move."""

from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mcp_memory_server.ports.item_table import ItemTable
from tests.clock import FakeClock
from tests.contract.addresses import Address, DynamoDbTables, SqliteAddress

ENGINES = ("sqlite", "dynamodb-local", "moto")


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
