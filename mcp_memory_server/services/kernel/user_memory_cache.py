"""What is known of each user, kept in memory and compared with the table's stamp before every use."""

import asyncio
import itertools
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock

from mcp_memory_server.domain.kernel.items import PUSHED_KEPT, Body, Item, Key
from mcp_memory_server.domain.kernel.scope import Scope
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
from mcp_memory_server.domain.recall.overview import apply_changes
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
"""So many memories, of all users together, are kept in memory; the users seen least recently leave first."""
MOST_CHANGE_SETS = 30
"""Of so many changes it is known what they changed: whoever follows what is known need not compare everything."""
READ_ALONG_AFTER = PUSHED_KEPT // 2
"""After so many own writes of which nobody asked, they are read along."""
READ_AT_ONCE = 5_000
READ_IN_A_THREAD = 1_000
"""More items than this are not made into memories on the event loop, where everybody else would wait for it."""


class ActivityLog:
    """What was announced about a user's sessions, until somebody takes it who follows them. Used from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._announced: list[SessionActivity] = []
        self._are_lost = True

    def add(self, announced: Sequence[SessionActivity], *, are_lost: bool) -> None:
        """Note what was announced, and whether there was more of which nobody knows."""
        with self._lock:
            self._announced += announced
            self._are_lost = self._are_lost or are_lost

    def take(self) -> tuple[list[SessionActivity], bool]:
        """Return what was announced since this was last asked, and whether some of it may be lost."""
        with self._lock:
            taken = self._announced, self._are_lost
            self._announced, self._are_lost = [], False
            return taken

    def __bool__(self) -> bool:
        return bool(self._announced) or self._are_lost


class UserMemoryCache:
    """The memories of the users seen last. Shared by the services that read, from any event loop."""

    def __init__(self, table: ItemTable, models: Models = NO_MODELS, *, near: ItemTable | None = None) -> None:
        """``models`` are those whose vectors are read along; ``near`` the same table, whose point reads may be cached.

        The one read of every recall is the user's stamp. It may come from a cache: that has the writes of this process,
        and without somebody else's of the last moment it only shows the memories of a moment ago. What the stamp says
        was changed is read from the table itself: an older copy of it would be taken for the newest for good.
        """
        self._table = table
        self._near = near or table
        self._models = models
        self._kept: OrderedDict[str, tuple[UserSnapshot, ActivityLog]] = OrderedDict()
        self._memories_kept = 0
        self._own_writes: Counter[str] = Counter()
        self._serials = itertools.count(1)
        self._lock = Lock()

    async def of(self, scope: Scope) -> UserSnapshot:
        """Return everything that is known of the user now: what was acknowledged anywhere before this call is in it."""
        return (await self.with_activity(scope))[0]

    async def with_activity(self, scope: Scope) -> tuple[UserSnapshot, ActivityLog]:
        """Return what is known, and what was announced about the user's sessions since they were first looked at."""
        kept, _ = await self._brought_up(scope, self._near)
        return kept

    def holds(self, scope: Scope) -> bool:
        """Tell whether the user is one of those seen last, of whom not everything has to be read."""
        with self._lock:
            return scope.user_id in self._kept

    def read(self, items: Iterable[Item]) -> UserSnapshot:
        """Return what these items hold, as if nothing else were known."""
        return self._read(items)

    async def exactly(self, scope: Scope) -> tuple[UserSnapshot, int]:
        """Return what is known, read past every cache, and the version of the item that every write raises.

        Who writes on the condition of that version has decided by everything that there is.
        """
        (known, _), profile = await self._brought_up(scope, self._table)
        return known, 0 if profile is None else profile.version

    async def note_own_write(self, scope: Scope) -> None:
        """Read along what this process wrote, every few writes, of a user who is kept in memory.

        The stamp tells what the last few writes changed. Who is further behind reads everything.
        """
        with self._lock:
            if scope.user_id not in self._kept:
                return
            self._own_writes[scope.user_id] += 1
            is_near = self._own_writes[scope.user_id] < READ_ALONG_AFTER
        if not is_near:
            with suppress(MemoryServerError):  # the write itself is done
                await self.exactly(scope)

    async def _brought_up(self, scope: Scope, table: ItemTable) -> tuple[tuple[UserSnapshot, ActivityLog], Item | None]:
        serial = next(self._serials)
        self._own_writes.pop(scope.user_id, None)
        profile = await table.get(keys.profile_key(scope))
        # The stamp is read before the memories: they may be newer than it says, never older.
        version = version_from(profile)
        kept = self._recall(scope.user_id)
        if kept is not None and kept[0].version == version:
            return kept, profile
        before = None if kept is None else kept[0]
        body: Body = {} if profile is None else profile.body
        changes = None if before is None else changes_since(_version(before), body)
        if before is None or changes is None:
            known = await self._load(scope)
        else:
            known = await self._changed(scope, before, changes)
        announced, are_lost = activity_since(None if before is None else before.activity_count, body)
        known = replace(known, version=version, serial=serial, activity_count=activity_count(body))
        return self._keep(scope, known, announced, are_lost=are_lost), profile

    async def _load(self, scope: Scope) -> UserSnapshot:
        """Return what is known, as it is read: not all items of somebody with very many are in memory at once."""
        read: list[UserSnapshot] = []
        cursor: str | None = None
        while True:
            page = await self._table.query(
                keys.user_partition(scope.user_id), between=keys.USER_KEY_RANGE, limit=READ_AT_ONCE, cursor=cursor
            )
            is_long = len(page.items) >= READ_IN_A_THREAD
            read.append(await asyncio.to_thread(self._read, page.items) if is_long else self._read(page.items))
            if (cursor := page.cursor) is None:
                return _all_of(read)

    async def _changed(self, scope: Scope, known: UserSnapshot, changes: Sequence[MemoriesChanged]) -> UserSnapshot:
        """Return what is known after only what was changed is read again."""
        partition = keys.user_partition(scope.user_id)
        changed = {sk for change in changes for sk in change.sort_keys}
        wanted = {sk for sk in changed if keys.is_in_user_key_range(sk)}
        if not wanted:
            return replace(known, change_sets=_change_sets(known, wanted))
        found = await self._table.get_many([Key(partition, sk) for sk in wanted])
        return _over(known, wanted, self._read(found.values()))

    def _read(self, items: Iterable[Item]) -> UserSnapshot:
        memories: dict[str, StoredMemory] = {}
        unreadable: set[str] = set()
        forgotten: set[str] = set()
        for item in items:
            if item.key.sk.startswith(keys.FORGOTTEN):
                forgotten |= _forgotten(item)
            elif item.key.sk.startswith(keys.BOOKKEEPING):
                continue
            elif (memory := memory_from(item, self._models)) is not None:
                memories[item.key.sk] = memory
            else:
                unreadable.add(item.key.sk)
        legacy = frozenset(filter(keys.is_legacy_fact, memories))
        for sk in legacy:
            # Worked out here, where nobody waits for it, because they are compared with every new statement.
            _ = (fact := memories[sk].fact) is not None and fact.fingerprint
        return UserSnapshot(None, memories, frozenset(unreadable), frozenset(forgotten), legacy, by_topic(memories))

    def _recall(self, user_id: str) -> tuple[UserSnapshot, ActivityLog] | None:
        with self._lock:
            if user_id in self._kept:
                self._kept.move_to_end(user_id)
            return self._kept.get(user_id)

    def _keep(
        self, scope: Scope, known: UserSnapshot, announced: Sequence[SessionActivity], *, are_lost: bool
    ) -> tuple[UserSnapshot, ActivityLog]:
        with self._lock:
            kept, talks = self._kept.get(scope.user_id, (None, ActivityLog()))
            talks.add(announced, are_lost=are_lost)
            if kept is not None and kept.serial > known.serial:
                return known, talks  # somebody asked later and was answered earlier
            self._memories_kept += len(known.by_key) - (0 if kept is None else len(kept.by_key))
            self._kept[scope.user_id] = known, talks
            self._kept.move_to_end(scope.user_id)
            while len(self._kept) > USERS_KEPT or (self._memories_kept > MEMORIES_KEPT and len(self._kept) > 1):
                _, (gone, _) = self._kept.popitem(last=False)
                self._memories_kept -= len(gone.by_key)
            return known, talks


def memory_from(item: Item, models: Models = NO_MODELS) -> StoredMemory | None:
    """Return the memory that the item holds, None if it cannot be read."""
    try:
        memory = _memory(item)
    except MemoryServerError:
        return None  # counted as unreadable, and told to whoever asks
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
    """Return by what it is known that something is not to be told: the fingerprint, and the turn that said it."""
    turn = forgotten_turn_from(item)
    return {tombstone_from(item).fingerprint, *([] if turn is None else [turn_memory_id(*turn)])}


def _all_of(read: Sequence[UserSnapshot]) -> UserSnapshot:
    memories = {sk: memory for known in read for sk, memory in known.by_key.items()}
    return UserSnapshot(
        None,
        memories,
        frozenset(sk for known in read for sk in known.unreadable),
        frozenset(mark for known in read for mark in known.forgotten),
        frozenset(sk for known in read for sk in known.legacy),
        read[0].by_topic if len(read) == 1 else by_topic(memories),
    )


def _over(known: UserSnapshot, changed: set[str], now: UserSnapshot) -> UserSnapshot:
    """Return what is known with what was read again in the place of what was there."""
    memories = dict(known.by_key)
    gone = {sk: memory for sk in changed if (memory := memories.pop(sk, None)) is not None}
    memories.update(now.by_key)
    marks = {sk.removeprefix(keys.FORGOTTEN) for sk in changed if sk.startswith(keys.FORGOTTEN)}
    return replace(
        known,
        by_key=memories,
        overviews=[one for before in known.overviews if (one := apply_changes(before, gone, now.by_key)) is not None],
        change_sets=_change_sets(known, changed),
        unreadable=(known.unreadable - changed) | now.unreadable,
        forgotten=(known.forgotten - marks) | now.forgotten,
        legacy=(known.legacy - changed) | now.legacy,
        by_topic=by_topic_after(known.by_topic, gone, now.by_key),
    )


def _change_sets(known: UserSnapshot, changed: set[str]) -> tuple[ChangeSet, ...]:
    return (*known.change_sets[-MOST_CHANGE_SETS:], ChangeSet(known.serial, frozenset(changed)))


def _version(known: UserSnapshot) -> UserVersion | None:
    return known.version if isinstance(known.version, UserVersion) else None
