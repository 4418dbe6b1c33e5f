"""The least that a request can cost here: a bare Redis round trip, and a bare DynamoDB query."""

import asyncio
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import boto3
from redis import Redis

from mcp_memory_server import Settings
from mcp_memory_server.addresses import DynamoDbTable, parse_table

WARM_UP = 20
TURNS = 20
PAUSE = 0.05


@dataclass(frozen=True)
class Floors:
    """How many seconds each took, one at a time, with the plain clients and no thread in between."""

    redis: Sequence[float]
    query: Sequence[float]


async def measure_floors(settings: Settings, seconds: float, *, without_redis: bool = False) -> Floors:
    """Ask the engines now and then for so many seconds.

    In a process of its own: what else the machine does falls on it alike, but nothing that this process does.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        work = process.submit(_ask, settings.table, None if without_redis else settings.sessions, seconds)
        return await asyncio.wrap_future(work)


def _ask(table: str, sessions: str | None, seconds: float) -> Floors:
    redis, query = None if sessions is None else Redis.from_url(sessions), _query_of(table)
    round_trips, queries = list[float](), list[float]()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        if redis is not None:
            round_trips.append(_time_of(redis.ping))
        queries.append(_time_of(query))
        time.sleep(PAUSE)
    return Floors(round_trips[WARM_UP:], queries[WARM_UP:])


def _query_of(address: str) -> Callable[[], object]:
    """Return a query of some items, in a partition of its own that this writes first."""
    table = parse_table(address)
    assert isinstance(table, DynamoDbTable)
    client: Any = boto3.client("dynamodb", region_name=table.region, endpoint_url=table.endpoint)
    for number in range(TURNS):
        item = {"pk": {"S": "FLOOR"}, "sk": {"S": f"{number:06}"}, "text": {"S": "x" * 100}}
        client.put_item(TableName=table.name, Item=item)
    return lambda: client.query(
        TableName=table.name,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": "FLOOR"}},
        ScanIndexForward=False,
        ConsistentRead=True,
    )


def _time_of(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
