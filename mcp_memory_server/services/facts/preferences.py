"""Preferences: how the user wants things done."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from mcp_memory_server.domain.facts.preferences import Preference, PreferenceChange, SetBy, choose
from mcp_memory_server.domain.kernel.credentials import refuse_credentials
from mcp_memory_server.domain.kernel.items import MAX_WRITES_AT_ONCE, Delete, Item, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.recall.memories import from_preference
from mcp_memory_server.errors import TableDamagedError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import preference_body, preference_from
from mcp_memory_server.schema.user_versions import bump_version
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.retries import operation_of, retry_on_conflict


class Preferences:
    """The preferences of all users, one value per key. A default never replaces a choice of the user.

    They are how the user wants agents to work, and apply to all agents, projects and teams.
    """

    def __init__(self, table: ItemTable, embeddings: Embeddings, now: Callable[[], datetime]) -> None:
        self._table = table
        self._embeddings = embeddings
        self._now = now

    async def set(
        self, scope: Scope, key: str, value: str, *, set_by: SetBy = SetBy.USER, operation_id: str | None = None
    ) -> PreferenceChange:
        """Set the preference and return the value before. Keys that differ only in case name the same preference.

        Raises:
            InvalidRequestError: It holds a credential.
        """
        refuse_credentials("preference", value, name=key)
        wanted = Preference(key, value, set_by, self._now())
        operation = operation_of(operation_id, "preference", key, value, set_by)
        return await retry_on_conflict(lambda: self._set(scope, wanted, operation))

    async def all(self, scope: Scope) -> list[Preference]:
        """Return all preferences of the user that can be read, in the order of their keys, with one query."""
        stored = (_readable(item) for item in await self._stored(scope))
        found = [preference for preference in stored if preference is not None]
        return sorted(found, key=lambda preference: (preference.key.casefold(), preference.key))

    async def _stored(self, scope: Scope) -> Sequence[Item]:
        page = await self._table.query(keys.user_partition(scope.user_id), prefix=keys.PREFERENCES, limit=None)
        return page.items

    async def _set(self, scope: Scope, wanted: Preference, operation: str) -> PreferenceChange:
        key = keys.preference_key(scope, wanted.key)
        place = key.sk.casefold()
        # Earlier releases stored a key as it was written, so there may be several items.
        items = [item for item in await self._stored(scope) if item.key.sk.casefold() == place]
        item = max(items, key=lambda item: (item.key == key, item.key.sk), default=None)
        stored = None if item is None else _readable(item)
        wanted = wanted if stored is None else replace(wanted, key=stored.key)
        change = choose(wanted, stored)
        if change.changed:
            body = preference_body(wanted, None if item is None or stored is None else item.body)
            body |= await self._embeddings.beside(from_preference(wanted).searched_text)
            put = Put(key, body, expected_version=item.version if item is not None and item.key == key else 0)
            removals = [Delete(one.key, one.version) for one in items if one.key != key][: MAX_WRITES_AT_ONCE - 2]
            version_bump = bump_version(scope.personal, key, *(removal.key for removal in removals))
            await self._table.write([put, version_bump, *removals], operation_id=operation)
        return change


def _readable(item: Item) -> Preference | None:
    try:
        return preference_from(item)
    except TableDamagedError:
        return None  # an unreadable item must not block a new value
