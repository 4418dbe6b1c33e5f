"""A long session against a short one: loading its last turns from the table must not depend on how long it is."""

import asyncio
import statistics
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import boto3

from mcp_memory_server import Role, Scope, Settings, open_memory
from mcp_memory_server.adapters.dynamodb.expressions import put_parts
from mcp_memory_server.addresses import DynamoDbTable, parse_table
from mcp_memory_server.domain.kernel.items import MAX_WRITES_AT_ONCE, Put
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.turns import Turn
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema.turn_records import TOKEN_COUNT, TURN_COUNT, session_written, written
from tests.bench.figures import Cell, Figures, verdict
from tests.bench.stage import USER, Stage

SHORT, LONG = 100, 100_000
LAST = 20
ROUNDS = 300
WARM_UP = 20
GOAL = 1.2
WRITERS = 8
TOKENS = 12


async def measure_long_sessions(stage: Stage) -> Figures:
    dynamodb = await stage.fresh()
    tables = {
        "SQLite": dynamodb.model_copy(update={"table": f"sqlite://{stage.folder / 'long.db'}"}),
        "DynamoDB Local": dynamodb,
    }
    rows = [await _measured(name, settings) for name, settings in tables.items()]
    return Figures(
        f"Loading the last {LAST} turns from the table, {LONG:,} turns against {SHORT}: medians, goal {GOAL}",
        rows,
        (
            f"{ROUNDS} loads of each, in turns, without a copy and without a Redis",
            "the turns were written in their stored form: with transactions to SQLite, with BatchWriteItem to DynamoDB",
        ),
    )


async def _measured(name: str, settings: Settings) -> Mapping[str, Cell]:
    alone = settings.model_copy(update={"sessions": "none", "outbox": "none"})
    async with open_memory(alone) as memory:
        for turns in (SHORT, LONG):
            await _fill(memory, alone, turns)
        medians = await _medians(memory)
    ratio = medians[LONG] / medians[SHORT]
    return {
        "what": name,
        f"{SHORT} turns, ms": medians[SHORT],
        f"{LONG:,} turns, ms": medians[LONG],
        "ratio": ratio,
        "goal": verdict(holds=ratio <= GOAL),
    }


async def _medians(memory: Memory) -> dict[int, float]:
    times: dict[int, list[float]] = {SHORT: [], LONG: []}
    for number in range(WARM_UP + ROUNDS):
        for turns in (SHORT, LONG) if number % 2 else (LONG, SHORT):
            started = time.perf_counter()
            loaded = await memory.conversations.load(_scope(turns), turns=LAST)
            if number >= WARM_UP:
                times[turns].append(time.perf_counter() - started)
            assert (len(loaded.turns), loaded.turn_count) == (LAST, turns)
    return {turns: statistics.median(taken) * 1000 for turns, taken in times.items()}


async def _fill(memory: Memory, settings: Settings, turns: int) -> None:
    """Write a session in the form that it has in the table. Turn by turn it would take an hour."""
    batches = _batches(turns)
    write = _writer(memory, settings)

    async def work() -> None:
        for batch in batches:
            await write(batch)

    await asyncio.gather(*(work() for _ in range(WRITERS)))
    counters = {TURN_COUNT: turns, TOKEN_COUNT: turns * TOKENS}
    await memory.table.update(session_written(_scope(turns), datetime.now(UTC), add=counters))


def _writer(memory: Memory, settings: Settings) -> Callable[[Sequence[Put]], Awaitable[object]]:
    table = parse_table(settings.table)
    if not isinstance(table, DynamoDbTable):
        return memory.table.write
    client: Any = boto3.client("dynamodb", region_name=table.region, endpoint_url=table.endpoint)

    async def write(batch: Sequence[Put]) -> None:
        items = [put_parts(put, 0, uuid.uuid4().hex, datetime.now(UTC))["Item"] for put in batch]
        left: Any = {table.name: [{"PutRequest": {"Item": item}} for item in items]}
        while left:
            answer = await asyncio.to_thread(client.batch_write_item, RequestItems=left)
            left = answer["UnprocessedItems"]

    return write


def _batches(turns: int) -> Iterator[Sequence[Put]]:
    puts = _puts(turns)
    while batch := list(islice(puts, MAX_WRITES_AT_ONCE)):
        yield batch


def _puts(turns: int) -> Iterator[Put]:
    turn_id, at = None, datetime.now(UTC) - timedelta(hours=1)
    for number in range(turns):
        turn_id = ulid_after(turn_id, at)
        text = f"Turn {number}: I would like to know where my order is, please."
        turn = Turn(turn_id, Role.USER, text, token_count=TOKENS)
        yield written(_scope(turns), turn, at, operation=f"fill-{number}").turn


def _scope(turns: int) -> Scope:
    return Scope(USER, f"session of {turns}")
