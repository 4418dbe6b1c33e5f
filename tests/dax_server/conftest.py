"""The unmodified client of DAX, and a table behind a cluster."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import boto3
import pytest
from amazondax import AmazonDaxClient
from botocore.config import Config

from tests.dax_server.running import DaxCluster, dax_cluster

CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"max_attempts": 0})
NAMES = {"HASH": "pk", "RANGE": "sk"}

OpenClient = Callable[[DaxCluster], Any]
MakeTable = Callable[..., str]


@pytest.fixture
def dynamodb(dynamodb_local_endpoint: str) -> Iterator[Any]:
    """The table itself, past the cluster."""
    with closing(boto3.client("dynamodb", endpoint_url=dynamodb_local_endpoint)) as client:
        yield client


@pytest.fixture
def make_table(dynamodb: Any) -> Iterator[MakeTable]:
    """Make a table whose key parts have these types."""
    names: list[str] = []

    def make(*types: str) -> str:
        parts = list(zip(NAMES.items(), types or ("S", "S"), strict=False))
        dynamodb.create_table(
            TableName=(name := f"dax-{uuid.uuid4().hex}"),
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": part, "KeyType": kind} for (kind, part), _ in parts],
            AttributeDefinitions=[
                *({"AttributeName": part, "AttributeType": type_} for (_, part), type_ in parts),
                {"AttributeName": "colour", "AttributeType": "S"},
            ],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by_colour",
                    "KeySchema": [{"AttributeName": "colour", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )
        names.append(name)
        return name

    yield make
    for name in names:
        dynamodb.delete_table(TableName=name)


@pytest.fixture
def open_client() -> Iterator[OpenClient]:
    with ExitStack() as opened:
        yield lambda cluster: opened.enter_context(
            AmazonDaxClient(endpoint_url=cluster.url, region_name="eu-central-1", config=CONFIG)
        )


@pytest.fixture
def dax(open_client: OpenClient, shared_dax: DaxCluster) -> Any:
    return open_client(shared_dax)


@pytest.fixture
def table(make_table: MakeTable) -> str:
    return make_table("S", "S")


@pytest.fixture
def lagging(dynamodb_local_endpoint: str, tmp_path: Path) -> Iterator[DaxCluster]:
    """Two nodes that learn of each other's writes only when the test says so."""
    with dax_cluster(dynamodb_local_endpoint, tmp_path / "dax.log", "--nodes", "2", "--lag", "1000") as cluster:
        yield cluster
