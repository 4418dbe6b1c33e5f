"""Erase one memory so that it is not learned again, or all data of a user."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from mcp_memory_server.domain.kernel.items import Delete, Item, Key
from mcp_memory_server.domain.kernel.scope import Owner, OwnerKind, Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory
from mcp_memory_server.domain.recall.memory_ids import resolved_id
from mcp_memory_server.domain.recall.turn_memories import TURN_ID_PREFIX
from mcp_memory_server.errors import (
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    TableDamagedError,
    UnavailableError,
)
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.turn_records import (
    have_the_same_content,
    parts_of,
    turn_from,
)
from mcp_memory_server.schema.user_versions import bump_version
from mcp_memory_server.services.facts.placement import scopes_of_memory
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.retries import retry_on_conflict
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache, memory_from
from mcp_memory_server.services.recall.index_registry import IndexRegistry
from mcp_memory_server.services.recall.user_index import turn_document
from mcp_memory_server.services.summaries.summaries import Summaries
from mcp_memory_server.services.users.restated import Place, Restated, Restatements
from mcp_memory_server.services.users.user_erasure import ForgottenUser, OtherStores, UserErasure
from mcp_memory_server.services.users.victims import is_named, tombstones_of, victims_of

T = TypeVar("T")

NOT_SCRUBBED = (
    "the memory file still holds the text, because another process reads an earlier state of it; it is overwritten as "
    "soon as that ends"
)

FORGOTTEN_AT_ONCE = 4


@dataclass(frozen=True)
class Forgotten:
    """The result: the text, the number of removed items, and among them of earlier versions with other texts.

    ``places`` are the sentences of turns, summaries and logged calls that said the same, and were taken out.
    ``also_known`` are other facts that say the same, and stay. What is ``missing`` is not done yet.
    """

    id: str
    text: str
    removed: int
    earlier_versions: int = 0
    places: tuple[Place, ...] = ()
    also_known: tuple[StoredMemory, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """Whether everything is gone."""
        return Status.PARTIAL if self.missing else Status.COMPLETE


class Erasure:
    """Erases memories and users."""

    def __init__(
        self,
        table: ItemTable,
        snapshots: UserMemoryCache,
        user_index: IndexRegistry,
        embeddings: Embeddings,
        other_stores: Callable[[], OtherStores],
        now: Callable[[], datetime],
    ) -> None:
        self._table = table
        self._snapshots = snapshots
        self._indexes = user_index
        self._other_stores = other_stores
        self._now = now
        self._summaries = Summaries(table, now)
        self._users = UserErasure(table, other_stores, now)
        self._restatements = Restatements(table, snapshots, user_index, embeddings, now)

    async def forget(
        self, scope: Scope, memory_id: str, *, everywhere: bool = True, dry_run: bool = False
    ) -> Forgotten:
        """Forget a memory. A fact is removed with its duplicates, its earlier versions and candidates for its value.

        A fingerprint of the fact remains, so that it is not learned again from old text. ``everywhere``, sentences that
        say the same are taken out of turns, summaries and logged calls too, the one it was learned from included. A
        turn is removed from its conversation, and so are turns with the same text elsewhere.

        With ``dry_run`` the result says what would go, and nothing is changed.

        Raises:
            NotFoundError: There is no memory with this id.
            NotPermittedError: It belongs to an owner that the scope may only read.
        """
        reads_user = Owner.user(scope.user_id) in scope.readable
        if memory_id.startswith(TURN_ID_PREFIX):
            if not reads_user:
                raise _not_found(memory_id)
            return await self._forget_turn(scope.personal, memory_id, dry_run=dry_run)
        holding = await scopes_of_memory(self._snapshots, scope, memory_id)
        victims: list[StoredMemory] = []
        for each in holding:
            snapshot = await self._snapshots.of(each)
            memory_id = resolved_id(memory_id, snapshot)
            victims += [snapshot.by_key[sk] for sk in victims_of(snapshot, memory_id)]
        facts = [memory for memory in victims if memory.fact is not None] if everywhere and reads_user else []
        found = await self._restatements.find(scope.personal, facts) if facts else Restated()
        if dry_run and victims:
            return _forgotten(memory_id, victims, found)
        # First the places that name it: after an interruption, a repeated call finds the fact, and by it the rest.
        texts = [memory.text for memory in facts]
        for session_id in await self._restatements.redact(scope.personal, found, texts):
            await self._other_stores().drop(Scope(scope.user_id, session_id))
        removed: list[StoredMemory] = []
        # Repeated until nothing is left: another writer may have turned it into history in the meantime.
        for each in holding:
            while await retry_on_conflict(partial(self._forget, each, memory_id, found.sentences, removed)):
                pass
        if not removed:
            raise _not_found(memory_id)
        forgotten = _forgotten(memory_id, removed, found)
        is_scrubbed = await self._table.scrub([*(memory.text for memory in removed), *found.sentences])
        return forgotten if is_scrubbed else replace(forgotten, missing=(*forgotten.missing, NOT_SCRUBBED))

    async def _forget_turn(self, scope: Scope, memory_id: str, *, dry_run: bool) -> Forgotten:
        snapshot, activities = await self._snapshots.with_activity(scope)
        user_index, missing = await self._indexes.of(scope, snapshot, activities)
        places = {place.key(scope): place for place in user_index.places_of_turn(memory_id)}
        items = await self._table.get_many(places)
        # The named turn comes first. A turn whose text was changed since stays.
        named = items.get(next(iter(places))) if places else None
        if named is None:
            if missing:
                raise UnavailableError(f"it could not be looked up: {missing[0]}. Try again in a moment")
            raise _not_found(memory_id)
        same = [item for item in items.values() if item is named or have_the_same_content(item, named)]
        victims = [key for item in same for key in await self._with_parts(item)]
        text = await self._text(named)
        if dry_run:
            return Forgotten(memory_id, text, len(victims))
        for session_id in {places[item.key].session_id for item in same}:
            await self._other_stores().drop(Scope(scope.user_id, session_id))
        await self._table.delete_many(victims)
        user_index.remove([turn_document(places[item.key]) for item in same])
        missing = () if await self._table.scrub([text]) else (NOT_SCRUBBED,)
        return Forgotten(memory_id, text, len(victims), missing=missing)

    async def _text(self, turn: Item) -> str:
        place = parts_of(turn)
        parts = () if place is None else (await self._table.query(place, limit=None)).items
        with suppress(TableDamagedError):
            return turn_from(turn, parts).content
        return ""

    async def _with_parts(self, turn: Item) -> list[Key]:
        parts = parts_of(turn)
        further = () if parts is None else (await self._table.query(parts, limit=None, attributes=())).items
        return [turn.key, *(part.key for part in further)]

    async def forget_user(
        self, scope: Scope, progress: Callable[[int], None] = lambda _: None, *, has_writers: bool = True
    ) -> ForgottenUser:
        """Remove all data of the user, tombstones of facts included, and say what is left anywhere.

        Nothing that was queued or said before is written again, by no worker of any process. ``has_writers=False`` is
        for a user that nobody else writes for.

        That includes what belongs to agents and projects of the user, but not the memory of a team.

        Raises:
            UnavailableError: The table did not answer. Repeating the call removes the rest.
        """
        return await self._users.erase(scope, progress, has_writers=has_writers)

    async def forget_owner(self, scope: Scope) -> int:
        """Remove the memory of the owner of new facts alone: of an agent, a project, a team, or shared knowledge.

        Raises:
            InvalidRequestError: That is the user, who has more than memories.
        """
        if scope.owner.kind is OwnerKind.USER:
            raise InvalidRequestError("a user is removed with forget_user, which removes conversations too")
        return await self._users.erase_owner(scope)

    async def _forget(
        self, scope: Scope, memory_id: str, sentences: Collection[str], removed: list[StoredMemory]
    ) -> bool:
        """Remove what there is and add it to ``removed``; return whether there was anything."""
        snapshot = await self._snapshots.of(scope)
        partition = keys.partition_of(scope)
        by_key = {Key(partition, sk): snapshot.by_key[sk] for sk in victims_of(snapshot, memory_id)}
        found = await self._table.get_many(by_key)
        as_read = {key: memory_from(item) for key, item in found.items()}
        if as_read != by_key and (await self._snapshots.of(scope)).version != snapshot.version:
            raise ConflictError("something was written there in the meantime")
        # Summaries first: after an interruption, a repeated call finds the memory and removes it from them again.
        await self._summaries.take_out(scope, [memory.text for memory in by_key.values()], sentences)
        for some in _chunks([key for key in by_key if key in found], FORGOTTEN_AT_ONCE):
            removals = (Delete(key, found[key].version) for key in some)
            tombstones = tombstones_of(scope, [by_key[key] for key in some], self._now())
            version_bump = bump_version(scope, *some, *(tombstone.key for tombstone in tombstones))
            if scope.owner.kind is not OwnerKind.USER and tombstones:
                # Conversations are the user's, and what they say of it is withheld by tombstones beside them.
                beside = tombstones_of(scope.personal, [by_key[key] for key in some], self._now())
                await self._table.write([bump_version(scope.personal, *(one.key for one in beside)), *beside])
            await self._table.write([version_bump, *removals, *tombstones])
            removed += [by_key[key] for key in some]
        return bool(found)


def _forgotten(memory_id: str, removed: Sequence[StoredMemory], found: Restated) -> Forgotten:
    named = next(memory for memory in removed if is_named(memory, memory_id))
    earlier = [one for one in removed if one.kind is Kind.PAST and one.text != named.text]
    return Forgotten(memory_id, named.text, len(removed), len(earlier), found.places, found.also_known, found.missing)


def _not_found(memory_id: str) -> NotFoundError:
    return NotFoundError(f"no memory has the id {memory_id[:80]!r}; `recall` shows the ids of what is known")


def _chunks(entries: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (entries[start : start + size] for start in range(0, len(entries), size))
