"""Tables on DynamoDB Local that a test may treat badly; the engine itself is shared, and stays up."""

from collections.abc import Iterator

import pytest

from tests.stores.tables import DynamoDbAddress, DynamoDbTables


@pytest.fixture
def dynamodb_table(dynamodb_local_tables: DynamoDbTables) -> Iterator[DynamoDbAddress]:
    with dynamodb_local_tables.fresh() as address:
        yield address
