"""Two processes write the same items with the same expected version: one of them wins, every time."""

import asyncio
import multiprocessing
import threading
from concurrent.futures import ProcessPoolExecutor
from typing import cast

import pytest

from mcp_memory_server.domain.kernel.items import Key, Put, Update
from mcp_memory_server.errors import ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from tests.stores.tables import Address, utc_now

# moto checks a condition and writes in two steps: such races have no single winner there.
ENGINES = ["sqlite", "dynamodb-local", pytest.param("dax", marks=pytest.mark.slow)]
pytestmark = pytest.mark.parametrize("table_address", ENGINES, indirect=True)

ROUNDS = 500
WAIT_SECONDS = 60
COUNTER = Key("RACE", "wins")

# Each process is given the line when it starts.
_line: threading.Barrier


@pytest.mark.parametrize("way", ["put", "update", "write"])
def test_of_two_writers_with_the_same_version_one_wins(table_address: Address, way: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, spawn, initializer=_stand_at, initargs=(spawn.Barrier(2),)) as processes:
        races = [processes.submit(_race, table_address, way, name) for name in ("first", "second")]
        first, second = (race.result() for race in races)
    wins, stored = asyncio.run(_read(table_address))

    with_one_winner = sum(a != b for a, b in zip(first, second, strict=True))
    assert with_one_winner == ROUNDS, f"{with_one_winner} of {ROUNDS} rounds had one winner"
    assert stored == ["first" if won else "second" for won in first]
    assert any(first), "the first process never won: there was no race"
    assert any(second), "the second process never won: there was no race"
    assert wins == (ROUNDS if way == "write" else 0)


def _stand_at(line: object) -> None:
    global _line
    _line = cast("threading.Barrier", line)


def _race(address: Address, way: str, name: str) -> list[bool]:
    return asyncio.run(_run_all_rounds(address, way, name))


async def _run_all_rounds(address: Address, way: str, name: str) -> list[bool]:
    table = await address.open(utc_now)
    try:
        won: list[bool] = []
        for number in range(ROUNDS):
            _line.wait(WAIT_SECONDS)
            won.append(await _wins(table, way, _key(number), name))
    except BaseException:
        _line.abort()  # the other process need not wait for one that is gone
        raise
    else:
        return won
    finally:
        await table.close()


async def _wins(table: ItemTable, way: str, key: Key, name: str) -> bool:
    body = {"by": name}
    try:
        match way:
            case "put":
                await table.put(Put(key, body, expected_version=0))
            case "update":
                await table.update(Update(key, set=body, expected_version=0))
            case _:
                await table.write([Put(key, body, expected_version=0), Update(COUNTER, add={"wins": 1})])
    except ConflictError:
        return False
    return True


async def _read(address: Address) -> tuple[object, list[object]]:
    table = await address.open(utc_now)
    try:
        counter = await table.get(COUNTER)
        items = await table.get_many([_key(number) for number in range(ROUNDS)])
    finally:
        await table.close()
    return counter.body["wins"] if counter else 0, [items[_key(number)].body["by"] for number in range(ROUNDS)]


def _key(number: int) -> Key:
    return Key("RACE", f"ROUND#{number:04}")
