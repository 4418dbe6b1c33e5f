"""Making, describing and removing the table, on an engine that knows backups and on one that does not."""

import uuid
from typing import Any

import pytest

from mcp_memory_server.adapters.dynamodb.address import TableAddress, connector
from mcp_memory_server.adapters.dynamodb.item_table import DEADLINE, open_dynamodb
from mcp_memory_server.adapters.dynamodb.tables import create_table, delete_table, describe_table
from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.errors import ConfigurationError

pytestmark = pytest.mark.anyio

REGION = "eu-west-1"
KEY = Key("USER#anna", "PROFILE")


@pytest.fixture(params=["dynamodb_local_endpoint", "moto_endpoint"])
def endpoint(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(request.param)


@pytest.fixture
def name() -> str:
    return f"tables-{uuid.uuid4().hex}"


@pytest.fixture
def lines() -> list[str]:
    return []


def client(name: str, endpoint: str) -> Any:
    return connector(TableAddress(name, REGION, endpoint), DEADLINE)()


def make_table(name: str, endpoint: str, hash_key: str) -> None:
    """Make a table as another program would."""
    dynamodb = client(name, endpoint)
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": hash_key, "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": part, "AttributeType": "S"} for part in (hash_key, "sk")],
    )
    dynamodb.close()


async def test_a_new_table_is_complete_where_the_engine_knows_everything(
    moto_endpoint: str, name: str, lines: list[str]
) -> None:
    made = await create_table(name, region=REGION, endpoint=moto_endpoint, progress=lines.append)

    assert made == await describe_table(name, region=REGION, endpoint=moto_endpoint)
    assert (made.name, made.region, made.status, made.items) == (name, REGION, "ACTIVE", 0)
    assert (made.billing, made.encryption, made.index, made.ttl_attribute) == (
        "on demand",
        "KMS key",
        "by_index",
        "expires_at",
    )
    assert (made.point_in_time_recovery, made.deletion_protection) == (True, True)


async def test_an_engine_without_backups_is_told_so_and_does_not_fail(
    dynamodb_local_endpoint: str, name: str, lines: list[str]
) -> None:
    made = await create_table(name, region=REGION, endpoint=dynamodb_local_endpoint, progress=lines.append)

    assert (made.status, made.index, made.ttl_attribute) == ("ACTIVE", "by_index", "expires_at")
    assert made.point_in_time_recovery is None
    assert "point-in-time recovery: not supported by this endpoint" in lines


async def test_progress_is_told_in_readable_lines(endpoint: str, name: str, lines: list[str]) -> None:
    await create_table(name, region=REGION, endpoint=endpoint, progress=lines.append)
    await delete_table(name, region=REGION, endpoint=endpoint, progress=lines.append)

    assert lines[0] == f"creating table {name!r}: on demand, encrypted, protected against deletion"
    assert f"table {name!r} in {endpoint} is ACTIVE" in lines
    assert lines[-1] == f"table {name!r} in {endpoint} is gone"


async def test_making_a_table_twice_leaves_it_and_its_items_as_they_are(
    endpoint: str, name: str, lines: list[str]
) -> None:
    first = await create_table(name, region=REGION, endpoint=endpoint, progress=lines.append)
    table = open_dynamodb(name, region=REGION, endpoint=endpoint)
    await table.put(Put(KEY, {"name": "Anna"}))

    second = await create_table(name, region=REGION, endpoint=endpoint, progress=lines.append)

    assert (second.status, second.ttl_attribute, second.index) == (first.status, first.ttl_attribute, first.index)
    assert await table.get(KEY) is not None
    assert f"table {name!r} in {endpoint} is there; its items are left as they are" in lines
    await table.close()


async def test_what_an_existing_table_lacks_is_added(moto_endpoint: str, name: str, lines: list[str]) -> None:
    await create_table(name, region=REGION, endpoint=moto_endpoint, progress=lines.append)
    dynamodb = client(name, moto_endpoint)
    dynamodb.update_time_to_live(
        TableName=name, TimeToLiveSpecification={"Enabled": False, "AttributeName": "expires_at"}
    )
    dynamodb.update_continuous_backups(
        TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False}
    )
    dynamodb.close()
    before = await describe_table(name, region=REGION, endpoint=moto_endpoint)

    after = await create_table(name, region=REGION, endpoint=moto_endpoint, progress=lines.append)

    assert (before.ttl_attribute, before.point_in_time_recovery) == (None, False)
    assert (after.ttl_attribute, after.point_in_time_recovery) == ("expires_at", True)


async def test_a_table_with_other_keys_is_neither_completed_nor_deleted(
    endpoint: str, name: str, lines: list[str]
) -> None:
    make_table(name, endpoint, "id")

    with pytest.raises(ConfigurationError, match="another program"):
        await create_table(name, region=REGION, endpoint=endpoint, progress=lines.append)
    with pytest.raises(ConfigurationError, match="another program"):
        await delete_table(name, region=REGION, endpoint=endpoint, progress=lines.append)

    untouched = await describe_table(name, region=REGION, endpoint=endpoint)
    assert (untouched.status, untouched.ttl_attribute) == ("ACTIVE", None)


async def test_a_table_without_the_index_is_refused(endpoint: str, name: str, lines: list[str]) -> None:
    make_table(name, endpoint, "pk")

    with pytest.raises(ConfigurationError, match="no index 'by_index'"):
        await create_table(name, region=REGION, endpoint=endpoint, progress=lines.append)


async def test_a_table_that_expires_by_another_attribute_is_refused(endpoint: str, name: str, lines: list[str]) -> None:
    await create_table(name, region=REGION, endpoint=endpoint, progress=lines.append)
    dynamodb = client(name, endpoint)
    dynamodb.update_time_to_live(
        TableName=name, TimeToLiveSpecification={"Enabled": False, "AttributeName": "expires_at"}
    )
    dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"})
    dynamodb.close()

    with pytest.raises(ConfigurationError, match="'until', not 'expires_at'"):
        await create_table(name, region=REGION, endpoint=endpoint, progress=lines.append)


async def test_a_deleted_table_is_gone_and_may_be_deleted_again(endpoint: str, name: str, lines: list[str]) -> None:
    await create_table(name, region=REGION, endpoint=endpoint, progress=lines.append)

    await delete_table(name, region=REGION, endpoint=endpoint, progress=lines.append)
    await delete_table(name, region=REGION, endpoint=endpoint, progress=lines.append)

    assert "nothing to delete" in lines[-1]
    with pytest.raises(ConfigurationError, match="does not exist"):
        await describe_table(name, region=REGION, endpoint=endpoint)
