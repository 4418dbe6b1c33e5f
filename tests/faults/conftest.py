"""Tables on DynamoDB Local that a test may treat badly; the engine itself is shared, and stays up."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.contract.addresses import DynamoDbAddress, DynamoDbTables


@pytest.fixture(scope="session")
def dynamodb_tables(dynamodb_local_endpoint: str) -> Iterator[DynamoDbTables]:
    with closing(DynamoDbTables(dynamodb_local_endpoint)) as tables:
        yield tables


@pytest.fixture
def dynamodb_table(dynamodb_tables: DynamoDbTables) -> Iterator[DynamoDbAddress]:
    with dynamodb_tables.fresh() as address:
        yield address
