"""Making the vector index with the table or after it, and telling whether it fits."""

from typing import Any

import boto3
import pytest

from mcp_memory_server.adapters.dynamodb import vector_index_making
from mcp_memory_server.adapters.dynamodb.tables import create_table, describe_table, vector_index_misfit
from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.errors import ConfigurationError
from tests.stores.vector_tables import INDEX, shape, vector_table

pytestmark = pytest.mark.anyio

KEY = Key("USER#anna", "PROFILE")


@pytest.fixture(params=["dynamodb_local_endpoint", "moto_endpoint"])
def behind(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(request.param)


async def test_a_new_table_has_the_index_at_once(behind: str) -> None:
    async with vector_table(behind) as table:
        described = await describe_table(table.name, endpoint=table.endpoint.endpoint)

        assert described.vector_indexes == f"{INDEX}: ACTIVE, 3 dimensions, cosine"
        assert described.index == "by_index"
        assert await vector_index_misfit(table.name, shape(), endpoint=table.endpoint.endpoint) is None


async def test_a_table_that_is_there_gets_the_index_and_is_waited_for(
    behind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index_making, "BETWEEN_LOOKS", vector_index_making.BETWEEN_LOOKS / 100)
    async with vector_table(behind, made_with_index=False) as table:
        await table.items.put(Put(KEY, {"name": "Anna"}))
        table.endpoint.looks_until_built = 3
        told: list[str] = []

        made = await create_table(
            table.name, endpoint=table.endpoint.endpoint, progress=told.append, vector_index=shape()
        )

        assert made.vector_indexes == f"{INDEX}: ACTIVE, 3 dimensions, cosine"
        assert f"adding the vector index {INDEX!r}: 3 dimensions" in told
        assert told[-1].startswith(f"the vector index {INDEX!r} is ready")
        assert await table.items.get(KEY) is not None


async def test_making_it_twice_changes_nothing(behind: str) -> None:
    async with vector_table(behind) as table:
        told: list[str] = []

        await create_table(table.name, endpoint=table.endpoint.endpoint, progress=told.append, vector_index=shape())

        assert not [line for line in told if line.startswith("adding")]


async def test_an_index_of_another_model_is_refused_and_left_alone(behind: str) -> None:
    async with vector_table(behind) as table:
        endpoint = table.endpoint.endpoint

        with pytest.raises(ConfigurationError, match="have 3 dimensions, those of the model have 4"):
            await create_table(table.name, endpoint=endpoint, progress=lambda _: None, vector_index=shape(4))

        assert await vector_index_misfit(table.name, shape(), endpoint=endpoint) is None


async def test_what_is_wrong_with_an_index_is_told_in_words(behind: str) -> None:
    async with vector_table(behind) as table:
        endpoint = table.endpoint.endpoint

        missing = await vector_index_misfit(table.name, shape(name="elsewhere"), endpoint=endpoint)
        unfit = await vector_index_misfit(table.name, shape(4), endpoint=endpoint)

        assert missing == "there is no vector index 'elsewhere'"
        assert unfit == "its vectors have 3 dimensions, those of the model have 4"


async def test_an_index_that_is_being_built_is_told_to_be(behind: str) -> None:
    async with vector_table(behind, made_with_index=False) as table:
        endpoint = table.endpoint
        await create_table(table.name, endpoint=endpoint.endpoint, progress=lambda _: None, vector_index=shape())
        endpoint.looks_until_built = 5
        endpoint.rebuild(table.name)

        described = await describe_table(table.name, endpoint=endpoint.endpoint)
        misfit = await vector_index_misfit(table.name, shape(), endpoint=endpoint.endpoint)

        assert described.vector_indexes == f"{INDEX}: being built over what is stored, 3 dimensions, cosine"
        assert "still being built" in (misfit or "")


async def test_a_table_that_is_not_on_demand_cannot_have_one(moto_endpoint: str) -> None:
    async with vector_table(moto_endpoint, made_with_index=False) as table:
        endpoint = table.endpoint.endpoint
        client: Any = boto3.client("dynamodb", endpoint_url=moto_endpoint)
        units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
        index = {"Update": {"IndexName": "by_index", "ProvisionedThroughput": units}}
        client.update_table(
            TableName=table.name,
            BillingMode="PROVISIONED",
            ProvisionedThroughput=units,
            GlobalSecondaryIndexUpdates=[index],
        )
        client.close()

        with pytest.raises(ConfigurationError, match="not on demand"):
            await create_table(table.name, endpoint=endpoint, progress=lambda _: None, vector_index=shape())
