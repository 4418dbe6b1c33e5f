"""Where a table lies: a value that can be handed to another process, which opens the same table."""

import asyncio
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import boto3

from mcp_memory_server.adapters.dax.item_table import open_dax
from mcp_memory_server.adapters.dynamodb.item_table import open_dynamodb
from mcp_memory_server.adapters.dynamodb.tables import create_table
from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.ports.item_table import ItemTable

Now = Callable[[], datetime]

ORIGINAL = "contract-original"
PATIENCE = timedelta(seconds=30)
"""The engines share two cores with the tests: the deadline of the product is tested elsewhere."""


class Address(Protocol):
    async def open(self, now: Now) -> ItemTable: ...


@dataclass(frozen=True)
class SqliteAddress:
    path: Path

    async def open(self, now: Now) -> ItemTable:
        return await SqliteItemTable.open(self.path, now=now)


@dataclass(frozen=True)
class DynamoDbAddress:
    endpoint: str
    table: str

    async def open(self, now: Now) -> ItemTable:
        return open_dynamodb(self.table, endpoint=self.endpoint, deadline=PATIENCE, now=now)


@dataclass(frozen=True)
class DaxAddress:
    """A table behind a cluster. ``near`` opens it so that point reads come from the item cache."""

    cluster: str
    endpoint: str
    table: str
    near: bool = False

    async def open(self, now: Now) -> ItemTable:
        table = open_dax(self.cluster, self.table, endpoint=self.endpoint, deadline=PATIENCE, now=now)
        return table.cached_reads() if self.near else table


class DynamoDbTables:
    """Gives fresh tables: copies of one that the product made, because making it with all its checks takes longer."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._client: Any = boto3.client("dynamodb", endpoint_url=endpoint)
        asyncio.run(create_table(ORIGINAL, endpoint=endpoint, progress=lambda _: None))
        made = self._client.describe_table(TableName=ORIGINAL)["Table"]
        self._shape = {name: made[name] for name in ("AttributeDefinitions", "KeySchema")} | {
            "GlobalSecondaryIndexes": [
                {name: index[name] for name in ("IndexName", "KeySchema", "Projection")}
                for index in made["GlobalSecondaryIndexes"]
            ]
        }

    @contextmanager
    def fresh(self) -> Iterator[DynamoDbAddress]:
        name = f"contract-{uuid.uuid4().hex}"
        self._client.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **self._shape)
        yield DynamoDbAddress(self._endpoint, name)
        self._client.delete_table(TableName=name)

    def close(self) -> None:
        self._client.close()


def utc_now() -> datetime:
    return datetime.now(UTC)
