"""Export everything of a user as lines of text, and import it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from mcp_memory_server.domain.kernel.items import MAX_ITEM_BYTES, Item, Key, Put, expiry_seconds, is_expired
from mcp_memory_server.domain.kernel.scope import OwnerKind, Scope
from mcp_memory_server.errors import ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.session_cache import SessionCache
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.exported.lines import Entry, MemoryEntry, entries_from, statement_fingerprint
from mcp_memory_server.schema.exported.session_lines import ItemEntry, SessionEntry, TurnEntry
from mcp_memory_server.schema.user_versions import bump_version, publish_any_activity
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.user_memory_cache import memory_from
from mcp_memory_server.services.sessions.restored_sessions import RestoredSessions
from mcp_memory_server.services.users.exported_lines import ExportedLines

ITEMS_PER_WRITE = 9
ENTRIES_AT_ONCE = 256
CHARACTERS_AT_ONCE = 8_000_000
WRITES_AT_ONCE = 16
KEYS_PER_PAGE = 1000


@dataclass(frozen=True)
class Imported:
    """The result of an import: what was added, already stored, forgotten by the user before, or expired since."""

    added: int
    known: int
    forgotten: int
    expired: int = 0

    def __add__(self, other: "Imported") -> "Imported":
        return Imported(
            self.added + other.added,
            self.known + other.known,
            self.forgotten + other.forgotten,
            self.expired + other.expired,
        )


class Archive:
    """Exports and imports everything of a user."""

    def __init__(
        self,
        table: ItemTable,
        embeddings: Embeddings,
        now: Callable[[], datetime],
        session_cache: Callable[[], SessionCache | None] = lambda: None,
    ) -> None:
        """``session_cache`` returns the cache that may hold sessions to which turns are added here."""
        self._table = table
        self._embeddings = embeddings
        self._now = now
        self._session_cache = session_cache
        self._sessions = RestoredSessions(table, embeddings, now)

    async def export(
        self,
        scope: Scope,
        *,
        after: str | None = None,
        on_unreadable: Callable[[str], None] = lambda _what: None,
    ) -> AsyncIterator[str]:
        """Yield everything that is stored of the user as JSON Lines, history, tombstones and conversations included.

        With the last line of an export that was interrupted, the lines ``after`` it. What changed before that line in
        the meantime is not in them. ``on_unreadable`` gets the kind of each item that was left out as damaged.
        """
        async for line in ExportedLines(self._table, scope, self._now, on_unreadable).after(after):
            yield line

    async def users(self) -> list[str]:
        """Return everybody of whom something is stored. This reads the keys of the whole table."""
        found: set[str] = set()
        cursor: str | None = None
        while True:
            page = await self._table.list_keys(limit=KEYS_PER_PAGE, cursor=cursor)
            found |= {user for key in page.keys if (user := keys.user_of_partition(key.pk)) is not None}
            if (cursor := page.cursor) is None:
                return sorted(found)

    async def import_(
        self,
        scope: Scope | None,
        lines: Iterable[str],
        progress: Callable[[int, int], None] = lambda _done, _all: None,
    ) -> Imported:
        """Add what the lines hold. Nothing stored is overwritten, and importing twice, or again, is harmless.

        Without a scope everything goes to the user that the header before it names. The lines are read twice: first
        to check them, so that a wrong one changes nothing. Besides exports of this server, files of the official
        server-memory are read.

        Raises:
            InvalidRequestError: A line cannot be read. Nothing was imported.
        """
        if iter(lines) is lines:
            lines = list(lines)
        total = sum(1 for _ in entries_from(scope, lines, self._now()))
        imported, done, with_turns = Imported(0, 0, 0), 0, set[str]()
        for some in _batches(entries_from(scope, lines, self._now())):
            if not _is_of_user(scope):  # conversations are a user's too
                some = [one for one in some if isinstance(one, MemoryEntry)]
            imported += await self._import(some)
            with_turns |= {one.scope.user_id for one in some if isinstance(one, TurnEntry)}
            done += len(some)
            progress(done, total)
        for user_id in sorted(with_turns):
            await self._table.update(publish_any_activity(Scope(user_id)), operation_id=uuid4().hex)
        return imported

    async def add(
        self, scope: Scope, puts: Sequence[Put], progress: Callable[[int, int], None] = lambda _done, _all: None
    ) -> Imported:
        """Write memories that are not stored yet and were not forgotten, each under a key of its own."""
        imported, done = Imported(0, 0, 0), 0
        for start in range(0, len(puts), ENTRIES_AT_ONCE):
            some = puts[start : start + ENTRIES_AT_ONCE]
            imported += await self._import([MemoryEntry(scope, put) for put in some])
            done += len(some)
            progress(done, len(puts))
        return imported

    async def _import(self, entries: Sequence[Entry]) -> Imported:
        now = self._now()
        living = [one for one in entries if _is_accepted(one) and not _is_expired(one, now)]
        memories = _memories_by_owner(living)
        batches = [
            (owner, puts[start : start + ITEMS_PER_WRITE])
            for owner, puts in memories.items()
            for start in range(0, len(puts), ITEMS_PER_WRITE)
        ]
        turns = _turns_by_session(living)
        items = [one for one in living if isinstance(one, ItemEntry)]
        done = await _some_at_once(
            [
                *(lambda owner=owner, puts=puts: self._add(owner, puts) for owner, puts in batches),
                *(lambda some=some: self._add_turns(some) for some in turns.values()),
                *(lambda item=item: self._add_item(item) for item in items),
            ]
        )
        repeated = sum(isinstance(one, MemoryEntry) for one in living) - sum(map(len, memories.values()))
        for one in living:
            if isinstance(one, SessionEntry):
                await self._sessions.finish(one)
                await self._drop_cached(one.scope)
        return sum(done, Imported(0, repeated, 0, len(entries) - len(living)))

    async def _add(self, scope: Scope, batch: Sequence[Put]) -> Imported:
        accepted = await self._not_forgotten(scope, batch)
        stored = await self._table.get_many([put.key for put in accepted], attributes=())
        new = [await self._embedded(put) for put in accepted if put.key not in stored]
        added = await self._write(scope, new)
        return Imported(added, len(accepted) - added, len(batch) - len(accepted))

    async def _add_turns(self, turns: Sequence[TurnEntry]) -> Imported:
        added = await self._sessions.add(turns[0].scope, turns)
        await self._drop_cached(turns[0].scope)
        return Imported(added, len(turns) - added, 0)

    async def _add_item(self, item: ItemEntry) -> Imported:
        if await self._table.get(item.put.key) is not None:
            return Imported(0, 1, 0)
        try:
            for part in item.parts:
                await self._table.put(part, operation_id=uuid4().hex)
            await self._table.put(item.put, operation_id=uuid4().hex)
        except ConflictError:  # another process added it a moment ago
            await self._table.delete_many([part.key for part in item.parts])
            return Imported(0, 1, 0)
        return Imported(1, 0, 0)

    async def _drop_cached(self, scope: Scope) -> None:
        """Drop the cached session: it lacks the turns that were added to the table."""
        cache = self._session_cache()
        if cache is not None:
            await cache.drop(scope)

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
        found = await self._table.get_many(tombstones, attributes=())
        forgotten = {key.sk.removeprefix(keys.FORGOTTEN) for key in found}
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


async def _some_at_once(work: Sequence[Callable[[], Awaitable[Imported]]]) -> list[Imported]:
    limit = asyncio.Semaphore(WRITES_AT_ONCE)

    async def bounded(one: Callable[[], Awaitable[Imported]]) -> Imported:
        async with limit:
            return await one()

    return list(await asyncio.gather(*map(bounded, work)))


def _is_accepted(entry: Entry) -> bool:
    """Check that the owner can have it: preferences, summaries and chats are a user's alone."""
    return (
        not isinstance(entry, MemoryEntry)
        or _is_of_user(entry.scope)
        or entry.put.key.pk == keys.partition_of(entry.scope)
    )


def _is_of_user(scope: Scope | None) -> bool:
    return scope is None or scope.owner.kind is OwnerKind.USER


def _memories_by_owner(entries: Sequence[Entry]) -> dict[Scope, list[Put]]:
    """Return the memories of each user, each key once: a transaction may name it only once."""
    found: dict[Scope, dict[Key, Put]] = {}
    for one in entries:
        if isinstance(one, MemoryEntry):
            found.setdefault(one.scope, {})[one.put.key] = one.put
    return {owner: list(puts.values()) for owner, puts in found.items()}


def _turns_by_session(entries: Sequence[Entry]) -> dict[Scope, list[TurnEntry]]:
    found: dict[Scope, list[TurnEntry]] = {}
    for one in entries:
        if isinstance(one, TurnEntry):
            found.setdefault(one.scope, []).append(one)
    return found


def _is_expired(entry: Entry, now: datetime) -> bool:
    if isinstance(entry, SessionEntry):
        return False
    expires_at = entry.expires_at if isinstance(entry, TurnEntry) else entry.put.expires_at
    return is_expired(expiry_seconds(expires_at), now)


def _batches(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    """Yield the entries in lists that fit into memory."""
    some, characters = list[Entry](), 0
    for one in entries:
        some.append(one)
        characters += _size(one)
        if len(some) >= ENTRIES_AT_ONCE or characters >= CHARACTERS_AT_ONCE:
            yield some
            some, characters = [], 0
    if some:
        yield some


def _size(entry: Entry) -> int:
    """Return about how large an entry is that may be large."""
    if isinstance(entry, TurnEntry):
        return len(entry.turn.content)
    return sum(MAX_ITEM_BYTES for _ in entry.parts) if isinstance(entry, ItemEntry) else 0
