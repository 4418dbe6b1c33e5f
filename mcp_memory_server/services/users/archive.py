"""Export a user's memory as lines of text, and import it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mcp_memory_server.domain.kernel.items import Item, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.lines import header_line, line_from, puts_from, statement_fingerprint
from mcp_memory_server.schema.user_versions import bump_version
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.user_memory_cache import memory_from

ITEMS_PER_PAGE = 500
ITEMS_PER_WRITE = 9
WRITES_AT_ONCE = 16


@dataclass(frozen=True)
class Imported:
    """The result of an import: memories added, already stored, and skipped because the user had them forgotten."""

    added: int
    known: int
    forgotten: int


class Archive:
    """Exports and imports the memory of a user."""

    def __init__(self, table: ItemTable, embeddings: Embeddings, now: Callable[[], datetime]) -> None:
        self._table = table
        self._embeddings = embeddings
        self._now = now

    async def export(self, scope: Scope) -> AsyncIterator[str]:
        """Yield everything that is stored of the user as JSON Lines, history and tombstones included."""
        yield header_line(self._now())
        partition, cursor = keys.user_partition(scope.user_id), None
        while True:
            page = await self._table.query(partition, limit=ITEMS_PER_PAGE, cursor=cursor)
            for item in page.items:
                if (line := line_from(item)) is not None:
                    yield line
            if (cursor := page.cursor) is None:
                return

    async def import_(
        self, scope: Scope, lines: Iterable[str], progress: Callable[[int, int], None] = lambda _done, _all: None
    ) -> Imported:
        """Add the memories of the lines. Nothing stored is overwritten, and importing twice is harmless.

        Reads exports of this server and the file of the official server-memory.

        Raises:
            InvalidRequestError: A line cannot be read. Nothing was imported.
        """
        by_key = {put.key: put for put in puts_from(scope, lines, self._now())}
        return await self.add(scope, list(by_key.values()), progress)

    async def add(
        self, scope: Scope, puts: Sequence[Put], progress: Callable[[int, int], None] = lambda _done, _all: None
    ) -> Imported:
        """Write memories that are not stored yet and were not forgotten, each under a key of its own."""
        batches = [puts[start : start + ITEMS_PER_WRITE] for start in range(0, len(puts), ITEMS_PER_WRITE)]
        added = forgotten = done = 0
        for start in range(0, len(batches), WRITES_AT_ONCE):
            some = batches[start : start + WRITES_AT_ONCE]
            for batch_added, batch_forgotten in await asyncio.gather(*(self._add(scope, batch) for batch in some)):
                added += batch_added
                forgotten += batch_forgotten
            done += sum(len(batch) for batch in some)
            progress(done, len(puts))
        return Imported(added, len(puts) - added - forgotten, forgotten)

    async def _add(self, scope: Scope, batch: Sequence[Put]) -> tuple[int, int]:
        accepted = await self._not_forgotten(scope, batch)
        stored = await self._table.get_many([put.key for put in accepted])
        new = [await self._embedded(put) for put in accepted if put.key not in stored]
        return await self._write(scope, new), len(batch) - len(accepted)

    async def _embedded(self, put: Put) -> Put:
        memory = memory_from(Item(put.key, put.body, version=1)) if keys.holds_memory(put.key.sk) else None
        return (
            put
            if memory is None
            else replace(put, body={**put.body, **await self._embeddings.beside(memory.searched_text, with_fine=False)})
        )

    async def _not_forgotten(self, scope: Scope, batch: Sequence[Put]) -> list[Put]:
        statements = {put.key: statement_fingerprint(put) for put in batch}
        tombstones = {keys.tombstone_key(scope, fingerprint) for fingerprint in statements.values() if fingerprint}
        forgotten = {key.sk.removeprefix(keys.FORGOTTEN) for key in await self._table.get_many(tombstones)}
        return [put for put in batch if statements[put.key] not in forgotten]

    async def _write(self, scope: Scope, new: Sequence[Put]) -> int:
        if not new:
            return 0
        try:
            await self._table.write([*new, bump_version(scope, *(put.key for put in new))])
        except ConflictError:  # another process added one of them a moment ago: add the others
            if len(new) == 1:
                return 0
            return sum([await self._write(scope, [put]) for put in new])
        return len(new)
