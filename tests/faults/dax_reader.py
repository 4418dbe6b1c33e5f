"""A program that reads and writes items at random through a DAX cluster, and compares what it reads with what it wrote.

It has items of its own, which it makes, changes, removes and makes anew: each read must be exactly what it wrote last.
It shares counters with the others: each read must be at least as high as what it was told when it last raised it.
At the end it prints what it saw.
"""

import asyncio
import json
import random
import sys
import time
from dataclasses import asdict, dataclass, field
from datetime import timedelta

from mcp_memory_server.adapters.dax.item_table import NODE_LAG, DaxItemTable, open_dax
from mcp_memory_server.domain.kernel.items import Delete, Key, Put, Update

OWN_ITEMS = 6
SHARED_ITEMS = 6
PATIENCE = timedelta(seconds=30)


@dataclass(frozen=True)
class Task:
    """Where the table is, how much to do, whether point reads come from the item cache, and whether the rule that
    keeps own writes fresh is on."""

    cluster: str
    endpoint: str
    table: str
    number: int
    operations: int
    near: bool = True
    rule: bool = True

    def text(self) -> str:
        return json.dumps(asdict(self))


@dataclass
class Saw:
    """What one program did and saw. A count is the moment, the item and its value."""

    reads: int = 0
    writes: int = 0
    stale: int = 0
    raised: list[tuple[float, int, int]] = field(default_factory=list)
    counted: list[tuple[float, int, int]] = field(default_factory=list)


class Reader:
    """Does one thing after the other, so that it is always clear what came before."""

    def __init__(self, task: Task, table: DaxItemTable) -> None:
        self._number = task.number
        self._table = table
        self._chance = random.Random(task.number)
        self._own: dict[Key, str | None] = {Key(f"OWN#{task.number}", f"{place}"): None for place in range(OWN_ITEMS)}
        self._raised: dict[int, int] = {}
        self.saw = Saw()

    async def step(self) -> None:
        does = self._chance.choices(
            (self._read_own, self._read_shared, self._write_own, self._raise_shared), (40, 30, 20, 10)
        )[0]
        await does()

    async def _read_own(self) -> None:
        key = self._chance.choice(list(self._own))
        if self._chance.random() < 0.8:
            item = await self._table.get(key)
        else:
            item = (await self._table.get_many([key])).get(key)
        found = None if item is None else item.body["text"]
        self.saw.reads += 1
        self.saw.stale += found != self._own[key]

    async def _read_shared(self) -> None:
        place, began = self._chance.randrange(SHARED_ITEMS), time.monotonic()
        item = await self._table.get(_shared(place))
        count = 0 if item is None else item.body["count"]
        assert isinstance(count, int)
        self.saw.reads += 1
        self.saw.stale += count < self._raised.get(place, 0)
        self.saw.counted.append((began, place, count))

    async def _write_own(self) -> None:
        key, text = self._chance.choice(list(self._own)), f"{self._chance.random()}"
        match self._chance.randrange(4):
            case 0:
                await self._table.put(Put(key, {"text": text}))
            case 1:
                await self._table.update(Update(key, set={"text": text}))
            case 2:
                await self._table.write([Put(key, {"text": text}), Delete(Key(key.pk, "other"))])
            case _:
                await self._table.delete(key)
                text = None
        self.saw.writes += 1
        self._own[key] = text

    async def _raise_shared(self) -> None:
        place = self._chance.randrange(SHARED_ITEMS)
        item = await self._table.update(Update(_shared(place), add={"count": 1}))
        count = item.body["count"]
        assert isinstance(count, int)
        self.saw.writes += 1
        self._raised[place] = count
        self.saw.raised.append((time.monotonic(), place, count))


def _shared(place: int) -> Key:
    return Key("SHARED", f"{place}")


async def run(task: Task) -> Saw:
    table = open_dax(
        task.cluster,
        task.table,
        endpoint=task.endpoint,
        deadline=PATIENCE,
        item_ttl=timedelta(minutes=5) if task.rule else -NODE_LAG,  # which remembers no write
    )
    reader = Reader(task, table.cached_reads() if task.near else table)
    for _ in range(task.operations):
        await reader.step()
    await table.close()
    return reader.saw


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(run(Task(**json.loads(sys.argv[1])))))))
