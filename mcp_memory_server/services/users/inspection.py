"""Find items that cannot be read, on every engine, and move them out of the way."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime

from mcp_memory_server.domain.kernel.items import QUARANTINE, DamagedBody, Delete, Item, Key, quarantine_put
from mcp_memory_server.errors import ConflictError, TableDamagedError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.state_records import state_from
from mcp_memory_server.schema.turn_records import META, TURNS, counters_from, turn_from
from mcp_memory_server.schema.user_versions import version_from
from mcp_memory_server.services.kernel.user_memory_cache import memory_from

ITEMS_PER_PAGE = 500


@dataclass(frozen=True)
class Damage:
    """An item that cannot be read, and why."""

    key: Key
    reason: str

    def __str__(self) -> str:
        return f"{self.key.pk} {self.key.sk}"


@dataclass(frozen=True)
class Inspected:
    """The result: how many items were read, which of them cannot be read, and how many are in quarantine.

    ``is_whole`` says whether the whole table was read.
    """

    items: int
    damaged: tuple[Damage, ...]
    quarantined: int
    is_whole: bool


class Inspection:
    """Reads every item of the table, whoever it belongs to. For operators."""

    def __init__(self, table: ItemTable, now: Callable[[], datetime]) -> None:
        self._table = table
        self._now = now

    async def inspect(self, *, most: int | None = None, progress: Callable[[int], None] = lambda _: None) -> Inspected:
        """Read all items, or the first ``most``, and return those that cannot be read."""
        items = quarantined = 0
        damaged: list[Damage] = []
        is_whole = True
        async for item in self._items():
            if most is not None and items >= most:
                is_whole = False
                break
            items += 1
            if item.key.pk.startswith(QUARANTINE):
                quarantined += 1
            elif (reason := damage_of(item)) is not None:
                damaged.append(Damage(item.key, reason))
            if items % ITEMS_PER_PAGE == 0:
                progress(items)
        return Inspected(items, tuple(damaged), quarantined, is_whole)

    async def quarantine(self, damage: Damage) -> bool:
        """Move an item that cannot be read out of the way; return whether that was done."""
        item = await self._table.get(damage.key)
        if item is None or damage_of(item) is None:
            return False
        if item.is_damaged:
            await self._table.quarantine(item.key)
            return True
        raw = json.dumps(dict(item.body), default=lambda value: bytes(value).hex()).encode()
        put = quarantine_put(item.key, raw, damage.reason, self._now())
        try:
            await self._table.write([put, Delete(item.key, item.version)])
        except ConflictError:
            return False  # it was written since
        return True

    async def _items(self) -> AsyncIterator[Item]:
        cursor: str | None = None
        while True:
            page = await self._table.scan(limit=ITEMS_PER_PAGE, cursor=cursor)
            for item in page.items:
                yield item
            if (cursor := page.cursor) is None:
                return


def damage_of(item: Item) -> str | None:
    """Return why an item cannot be read; None if it can, or if nothing is known of its kind."""
    if isinstance(item.body, DamagedBody):
        return item.body.reason
    try:
        _decode(item)
    except (TableDamagedError, TypeError, ValueError, AttributeError) as error:
        return str(error) or type(error).__name__
    return None


def _decode(item: Item) -> None:
    kind, sk = item.key.pk.partition("#")[0], item.key.sk
    if kind == "USER" and (keys.holds_memory(sk) or sk.startswith(keys.SUMMARIES)):
        if memory_from(item) is None:
            raise TableDamagedError(f"a {sk.partition('#')[0]} item has no content that can be read")
    elif kind == "USER" and sk == keys.PROFILE:
        version_from(item)
    elif kind == "SESSION" and sk == META:
        counters_from(item)
    elif kind == "SESSION" and sk.startswith(TURNS) and "parts" not in item.body:
        turn_from(item)
    elif kind == "STATES":
        state_from(item)
