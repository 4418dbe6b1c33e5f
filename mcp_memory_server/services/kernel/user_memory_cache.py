"""Snapshots of users, cached in memory and compared with the version in the table before every use."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock

from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.kernel.items import PUSHED_KEPT, Body, Item, Key
from mcp_memory_server.domain.kernel.scope import Owner, Scope
from mcp_memory_server.domain.kernel.vectors import NO_VECTORS
from mcp_memory_server.domain.recall.memories import (
    ChangeSet,
    StoredMemory,
    UserSnapshot,
    by_topic,
    by_topic_after,
    from_fact,
    from_note,
    from_preference,
    from_summary,
)
from mcp_memory_server.domain.recall.ranked_memories import apply_changes
from mcp_memory_server.domain.recall.turn_memories import turn_memory_id
from mcp_memory_server.errors import MemoryServerError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.embeddings import NO_MODELS, Models, embedding_from
from mcp_memory_server.schema.records import fact_from, forgotten_turn_from, note_from, preference_from, tombstone_from
from mcp_memory_server.schema.summary_records import summary_from
from mcp_memory_server.schema.user_versions import (
    MemoriesChanged,
    SessionActivity,
    UserVersion,
    activity_count,
    activity_since,
    changes_since,
    version_from,
)

USERS_KEPT = 10_000
MEMORIES_KEPT = 200_000
"""So many memories, of all users together, are kept in memory; the users seen least recently are evicted first."""
MOST_CHANGE_SETS = 30
"""So many of the last changes are listed in a snapshot: an index that follows it need not compare everything."""
READ_ALONG_AFTER = PUSHED_KEPT // 2
"""After so many own writes without a read, the snapshot is refreshed: the change log reaches back only so far."""
READ_AT_ONCE = 5_000
READ_IN_A_THREAD = 1_000
"""More items than this are parsed in a thread: the event loop would be blocked for too long."""


class ActivityLog:
    """The session activity of a user, until the search index takes it. Used from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._published: list[SessionActivity] = []
        self._are_lost = True

    def add(self, published: Sequence[SessionActivity], *, are_lost: bool) -> None:
        """Add what was published, and whether there was more that cannot be read any more."""
        with self._lock:
            self._published += published
            self._are_lost = self._are_lost or are_lost

    def take(self) -> tuple[list[SessionActivity], bool]:
        """Return what was added since the last call, and whether some of it may be lost."""
        with self._lock:
            taken = self._published, self._are_lost
            self._published, self._are_lost = [], False
            return taken

    def __bool__(self) -> bool:
        return bool(self._published) or self._are_lost


class UserMemoryCache:
    """Snapshots of the users and other owners seen last. Shared by the services that read, from any event loop.

    1. A snapshot is returned only if its version is the one that was read after the call began.
    2. The version is read before the memories: a snapshot may be newer than its version, never older.
    3. What the change log names is read from the table itself, never from a cache in front of it.
    """

    def __init__(self, table: ItemTable, models: Models = NO_MODELS, *, near: ItemTable | None = None) -> None:
        """``models`` are those whose vectors are read too; ``near`` is the same table with cached point reads.

        The one read of every recall is the user's version. It may come from a cache: that has the writes of this
        process, and if it misses another process's write of the last moment, the memories of a moment ago are returned.
        What has changed since is read from the table itself: an older copy would be taken for the newest for good.
        """
        self._table = table
        self._near = near or table
        self._models = models
        self._own_writes: Counter[Owner] = Counter()
        self._users = LruCache[Owner, tuple[UserSnapshot, ActivityLog]](
            USERS_KEPT,
            weight=lambda cached: len(cached[0].by_key),
            most_weight=MEMORIES_KEPT,
            on_evict=lambda owner, _: self._own_writes.pop(owner, None),
        )
        self._serials = itertools.count(1)
        self._lock = Lock()

    async def of(self, scope: Scope) -> UserSnapshot:
        """Return the user's snapshot as of now: whatever was acknowledged anywhere before this call is in it."""
        return (await self.with_activity(scope))[0]

    async def with_activity(self, scope: Scope) -> tuple[UserSnapshot, ActivityLog]:
        """Return the snapshot, and the session activity since the user was first read."""
        cached, _ = await self._refreshed(scope, self._near)
        return cached

    def holds(self, scope: Scope) -> bool:
        """Return whether a snapshot of the user is cached, so that not everything has to be read."""
        return scope.owner in self._users

    def read(self, items: Collection[Item]) -> UserSnapshot:
        """Return a snapshot of these items alone."""
        return self._read(items)

    async def exactly(self, scope: Scope) -> tuple[UserSnapshot, int]:
        """Return the snapshot, read past every cache, and the version of the item that every write raises.

        A write on the condition of that version is based on everything that is stored.
        """
        (snapshot, _), profile = await self._refreshed(scope, self._table)
        return snapshot, 0 if profile is None else profile.version

    async def note_own_write(self, scope: Scope) -> None:
        """Refresh the cached snapshot after every few writes of this process.

        The change log names only the last few writes. A snapshot that is older has to be read again as a whole.
        """
        if scope.owner not in self._users:
            return
        with self._lock:
            self._own_writes[scope.owner] += 1
            is_recent = self._own_writes[scope.owner] < READ_ALONG_AFTER
        if not is_recent:
            with suppress(MemoryServerError):  # the write itself is done
                await self.exactly(scope)

    async def _refreshed(self, scope: Scope, table: ItemTable) -> tuple[tuple[UserSnapshot, ActivityLog], Item | None]:
        serial = next(self._serials)
        self._own_writes.pop(scope.owner, None)
        profile = await table.get(keys.profile_key(scope))
        if profile is not None and profile.is_damaged:
            profile = None  # any write begins a new one, with a version that no snapshot has
        version = version_from(profile)
        cached = self._users.get(scope.owner)
        if cached is not None and cached[0].version == version:
            return cached, profile
        before = None if cached is None else cached[0]
        body: Body = {} if profile is None else profile.body
        changes = None if before is None else changes_since(_version_of(before), body)
        if before is None or changes is None:
            snapshot = await self._load(scope)
        else:
            snapshot = await self._changed(scope, before, changes)
        published, are_lost = activity_since(None if before is None else before.activity_count, body)
        snapshot = replace(snapshot, version=version, serial=serial, activity_count=activity_count(body))
        return self._keep(scope, snapshot, published, are_lost=are_lost), profile

    async def _load(self, scope: Scope) -> UserSnapshot:
        """Read the whole snapshot, page by page: not all items of a large user are in memory at once."""
        pages: list[UserSnapshot] = []
        cursor: str | None = None
        while True:
            page = await self._table.query(
                keys.partition_of(scope), between=keys.USER_KEY_RANGE, limit=READ_AT_ONCE, cursor=cursor
            )
            is_long = len(page.items) >= READ_IN_A_THREAD
            pages.append(await asyncio.to_thread(self._read, page.items) if is_long else self._read(page.items))
            if (cursor := page.cursor) is None:
                return _joined(pages)

    async def _changed(self, scope: Scope, snapshot: UserSnapshot, changes: Sequence[MemoriesChanged]) -> UserSnapshot:
        """Return the snapshot after reading again only what has changed."""
        partition = keys.partition_of(scope)
        changed = {sk for change in changes for sk in change.sort_keys}
        wanted = {sk for sk in changed if keys.is_in_user_key_range(sk)}
        if not wanted:
            return replace(snapshot, change_sets=_change_sets(snapshot, wanted))
        found = await self._table.get_many([Key(partition, sk) for sk in wanted])
        return _over(snapshot, wanted, self._read(found.values()))

    def _read(self, items: Collection[Item]) -> UserSnapshot:
        memories: dict[str, StoredMemory] = {}
        unreadable: set[str] = set()
        forgotten: set[str] = set()
        buried = [item for item in items if item.key.sk.startswith(keys.FORGOTTEN) and not item.is_damaged]
        tombstones = [tombstone_from(item) for item in buried]
        for item in items:
            if item.key.sk.startswith(keys.FORGOTTEN):
                forgotten |= _forgotten(item)
                if item.is_damaged:
                    unreadable.add(item.key.sk)
            elif item.key.sk.startswith(keys.BOOKKEEPING):
                continue
            elif (memory := memory_from(item, self._models)) is not None:
                memories[item.key.sk] = memory
            else:
                unreadable.add(item.key.sk)
        legacy = frozenset(filter(keys.is_legacy_fact, memories))
        for sk in legacy:
            # Computed here, possibly in a thread, because every new statement is compared with these.
            _ = (fact := memories[sk].fact) is not None and fact.fingerprint
        return UserSnapshot(
            None,
            memories,
            frozenset(unreadable),
            frozenset(forgotten),
            {tombstone.fingerprint: tombstone for tombstone in tombstones},
            legacy,
            by_topic(memories),
        )

    def _keep(
        self, scope: Scope, snapshot: UserSnapshot, published: Sequence[SessionActivity], *, are_lost: bool
    ) -> tuple[UserSnapshot, ActivityLog]:
        def newest(cached: tuple[UserSnapshot, ActivityLog] | None) -> tuple[UserSnapshot, ActivityLog]:
            activity = ActivityLog() if cached is None else cached[1]
            activity.add(published, are_lost=are_lost)
            if cached is not None and cached[0].serial > snapshot.serial:
                return cached  # a later call was answered earlier
            return snapshot, activity

        return snapshot, self._users.update(scope.owner, newest)[1]


def memory_from(item: Item, models: Models = NO_MODELS) -> StoredMemory | None:
    """Return the memory that the item holds, None if it cannot be read."""
    try:
        memory = _memory(item)
    except MemoryServerError:
        return None  # the caller counts it as unreadable
    vectors = embedding_from(item.body, memory.searched_text, models)
    return memory if vectors == NO_VECTORS else replace(memory, vectors=vectors)


def _memory(item: Item) -> StoredMemory:
    if item.key.sk.startswith(keys.PREFERENCES):
        return from_preference(preference_from(item))
    if item.key.sk.startswith(keys.NOTES):
        return from_note(note_from(item))
    if item.key.sk.startswith(keys.SUMMARIES):
        return from_summary(summary_from(item))
    return from_fact(fact_from(item))


def _forgotten(item: Item) -> set[str]:
    """Return the ids of what must not be returned: the fingerprint of a fact, and the turn that it came from."""
    if item.is_damaged:
        return {item.key.sk.removeprefix(keys.FORGOTTEN)}  # the statement itself must still not be returned
    turn = forgotten_turn_from(item)
    return {tombstone_from(item).fingerprint, *([] if turn is None else [turn_memory_id(*turn)])}


def _joined(pages: Sequence[UserSnapshot]) -> UserSnapshot:
    memories = {sk: memory for page in pages for sk, memory in page.by_key.items()}
    return UserSnapshot(
        None,
        memories,
        frozenset(sk for page in pages for sk in page.unreadable),
        frozenset(one for page in pages for one in page.forgotten),
        {name: one for page in pages for name, one in page.tombstones.items()},
        frozenset(sk for page in pages for sk in page.legacy),
        pages[0].by_topic if len(pages) == 1 else by_topic(memories),
    )


def _over(snapshot: UserSnapshot, changed: set[str], now: UserSnapshot) -> UserSnapshot:
    """Return the snapshot with these items replaced by what was read now."""
    memories = dict(snapshot.by_key)
    removed = {sk: memory for sk in changed if (memory := memories.pop(sk, None)) is not None}
    memories.update(now.by_key)
    fingerprints = {sk.removeprefix(keys.FORGOTTEN) for sk in changed if sk.startswith(keys.FORGOTTEN)}
    return replace(
        snapshot,
        by_key=memories,
        overviews=[
            one for before in snapshot.overviews if (one := apply_changes(before, removed, now.by_key)) is not None
        ],
        change_sets=_change_sets(snapshot, changed),
        unreadable=(snapshot.unreadable - changed) | now.unreadable,
        forgotten=(snapshot.forgotten - fingerprints) | now.forgotten,
        tombstones={name: one for name, one in snapshot.tombstones.items() if name not in fingerprints}
        | dict(now.tombstones),
        legacy=(snapshot.legacy - changed) | now.legacy,
        by_topic=by_topic_after(snapshot.by_topic, removed, now.by_key),
    )


def _change_sets(snapshot: UserSnapshot, changed: set[str]) -> tuple[ChangeSet, ...]:
    return (*snapshot.change_sets[-MOST_CHANGE_SETS:], ChangeSet(snapshot.serial, frozenset(changed)))


def _version_of(snapshot: UserSnapshot) -> UserVersion | None:
    return snapshot.version if isinstance(snapshot.version, UserVersion) else None
