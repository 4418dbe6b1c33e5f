"""Rolling summaries: what was said in long sessions before the turns that the session cache holds."""

from contextlib import suppress

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.turns import Turn, View
from mcp_memory_server.domain.summaries.extracts import running_summary
from mcp_memory_server.domain.summaries.material import material_from
from mcp_memory_server.errors import CacheUnavailableError, ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.turn_records import rolled, rolled_upto, rolling_key, summary_from
from mcp_memory_server.services.sessions.session_reader import SessionReader
from mcp_memory_server.services.sessions.session_stores import SessionStores

READ_AT_ONCE = 100
MOST_READ = 1_000
LONGEST_SUMMARY = 1_400
"""In characters: some 350 tokens beside the 4,096 of the turns."""


class RollingSummaries:
    """Adds trimmed turns to the summary that is loaded with the session. It is done often, so no model is asked."""

    def __init__(self, table: ItemTable, stores: SessionStores, reader: SessionReader) -> None:
        self._table = table
        self._stores = stores
        self._reader = reader

    async def roll(self, scope: Scope) -> bool:
        """Add the turns before those of the session cache; return whether any were missing in the summary."""
        loaded = await self._reader.load(scope, view=View.SUMMARY)
        if loaded.cursor is None:
            return False
        item = await self._table.get(rolling_key(scope))
        turns = await self._between(scope, rolled_upto(item), loaded.cursor)
        if not turns:
            return False
        safe = material_from(turns, None, ()).turns
        text = running_summary(summary_from(item), safe, LONGEST_SUMMARY)
        version = 0 if item is None else item.version
        try:
            await self._table.put(rolled(scope, text, turns[-1].id, self._stores.now(), expected_version=version))
        except ConflictError:
            return False  # another process did the same
        if self._stores.cache is not None and not self._stores.cache_epoch.is_disconnected:
            with suppress(CacheUnavailableError):  # it comes from the table when the cache is filled again
                await self._stores.cache.set_summary(scope, text)
        return True

    async def until(self, scope: Scope, cursor: str) -> str | None:
        """Return a summary of all turns before the cursor. What is not in the stored one is added, and not stored."""
        item = await self._table.get(rolling_key(scope))
        turns = await self._between(scope, rolled_upto(item), cursor)
        if not turns:
            return summary_from(item)
        return running_summary(summary_from(item), material_from(turns, None, ()).turns, LONGEST_SUMMARY)

    async def _between(self, scope: Scope, upto: str, cursor: str | None) -> list[Turn]:
        """Return the turns after the last one in the summary and before the cursor, oldest first."""
        found: list[Turn] = []
        while cursor is not None and len(found) < MOST_READ:
            page = await self._stores.stored.before(scope, cursor, READ_AT_ONCE, View.SUMMARY)
            found = [turn for turn in page.turns if turn.id > upto] + found
            cursor = page.cursor if page.turns and page.turns[0].id > upto else None
        return found
