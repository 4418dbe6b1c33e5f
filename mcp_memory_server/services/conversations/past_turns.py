"""Past turns: what was said in the conversations of a user, read in order to be searched."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from mcp_memory_server.domain.kernel.items import Item, Key
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.recall.memories import StoredMemory
from mcp_memory_server.domain.recall.restatements import FORGOTTEN
from mcp_memory_server.domain.recall.turn_memories import from_turn
from mcp_memory_server.domain.sessions.turns import Role
from mcp_memory_server.errors import MemoryServerError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.embeddings import ATTRIBUTES, Models, embedding_from
from mcp_memory_server.schema.turn_records import (
    META,
    PARTITIONS,
    TURNS,
    counters_from,
    parts_of,
    session_of,
    session_partition,
    sessions_of,
    turn_from,
    turn_id,
    turn_key,
)
from mcp_memory_server.schema.vector_entries import VECTOR_OWNER, is_entered

SESSIONS_PER_PAGE = 500
AT_THE_END = 16
READ_AGAIN = 10
"""So many turns are rather read again than read by their keys first, which takes another request for those that are
new."""

_TEXTS = ("role", "content", "packed", "parts", "speaker", "source_id", "importance")
_READ = (*_TEXTS, PARTITIONS, VECTOR_OWNER, *ATTRIBUTES)
_SEARCHED = (Role.USER, Role.ASSISTANT, Role.TOOL)
"""What the system said is the operator's, and no memory of the user."""


@dataclass(frozen=True)
class TurnPlace:
    """Where a turn lies: its session, its id, and the partition of the session."""

    session_id: str
    turn_id: str
    partition: int = 0

    def session(self, scope: Scope) -> Scope:
        """Return the session of this user."""
        return Scope(scope.user_id, self.session_id)

    def key(self, scope: Scope) -> Key:
        """Return where that is among what belongs to this user."""
        return turn_key(self.session(scope), self.turn_id, self.partition)


@dataclass(frozen=True)
class FoundTurn:
    """A turn as a memory, with where it lies. What ``lacks_an_entry`` is not in a vector index yet."""

    place: TurnPlace
    memory: StoredMemory
    version: int
    lacks_an_entry: bool = False


@dataclass(frozen=True)
class SessionTurns:
    """Turns of one session, in the order of their ids. What cannot be read is counted.

    ``seen`` are the ids of all turns that are there, whether they were read or not.
    """

    turns: tuple[FoundTurn, ...]
    unreadable: int
    seen: frozenset[str]


class PastTurns:
    """Reads turns from the table."""

    def __init__(self, table: ItemTable, model: str | None = None) -> None:
        """``model`` is the one that makes the vectors of turns."""
        self._table = table
        self._model = model
        self._models = Models(model)

    async def sessions(self, scope: Scope) -> list[str]:
        """Return the ids of the user's sessions, as far as the index knows them by now."""
        found: list[str] = []
        cursor: str | None = None
        while True:
            page = await self._table.find(sessions_of(scope), limit=SESSIONS_PER_PAGE, cursor=cursor)
            found += [session_of(key).session_id or "" for key in page.keys]
            if (cursor := page.cursor) is None:
                return found

    async def of_session(
        self, scope: Scope, session_id: str, since: str = "", seen: Collection[str] = ()
    ) -> SessionTurns:
        """Return the turns of a session from this one on, but for those that nobody would search.

        Those that were ``seen`` before need not be read again, and are not if they are many.
        """
        session = Scope(scope.user_id, session_id)
        attributes = _READ if len(seen) <= READ_AGAIN else (PARTITIONS,)
        first = await self._items(session, 0, since, attributes)
        meta = next((item for item in first if item.key.sk == META), None)
        numbers = range(1, counters_from(meta).partitions)
        others = await asyncio.gather(*(self._items(session, number, since, attributes) for number in numbers))
        partitions = [[item for item in items if item.key.sk.startswith(TURNS)] for items in (first, *others)]
        ids = frozenset(turn_id(item) for items in partitions for item in items)
        if attributes is not _READ:
            partitions = [await self._unseen(items, seen) for items in partitions]
        found: list[FoundTurn] = []
        unreadable = 0
        for number, items in enumerate(partitions):
            for item in items:
                try:
                    found += await self._found(session, item, number)
                except MemoryServerError:
                    unreadable += 1
        return SessionTurns(tuple(sorted(found, key=lambda turn: turn.place.turn_id)), unreadable, ids)

    async def change_token(self) -> object | None:
        """Return a token that stays equal as long as nothing is written to the table; None if the engine has none."""
        return await self._table.change_token()

    async def at(
        self, scope: Scope, places: Collection[TurnPlace], *, with_vectors: bool = True
    ) -> Mapping[TurnPlace, StoredMemory]:
        """Return the turns that still lie in these places."""
        sessions = {place.session_id: place.session(scope) for place in places}
        keys = {turn_key(sessions[place.session_id], place.turn_id, place.partition): place for place in places}
        items = await self._table.get_many(keys, attributes=_READ if with_vectors else _TEXTS)
        found: dict[TurnPlace, StoredMemory] = {}
        for key, item in items.items():
            for turn in await self._found(sessions[keys[key].session_id], item, keys[key].partition):
                found[turn.place] = turn.memory
        return found

    async def _unseen(self, items: Collection[Item], seen: Collection[str]) -> list[Item]:
        new = [item.key for item in items if turn_id(item) not in seen]
        return list((await self._table.get_many(new, attributes=_READ)).values()) if new else []

    async def _items(self, session: Scope, number: int, since: str, attributes: Sequence[str]) -> list[Item]:
        """Return what lies there from a turn on. At the end of a running session that is little, and read at once."""
        partition, found = session_partition(session, number), list[Item]()
        limit, cursor = AT_THE_END if since else None, None
        while True:
            page = await self._table.query(
                partition, between=(TURNS + since, META), limit=limit, cursor=cursor, attributes=attributes
            )
            found += page.items
            if (cursor := page.cursor) is None:
                return found
            limit = None

    async def _found(self, scope: Scope, item: Item, number: int) -> list[FoundTurn]:
        """Return the turn that the item holds, if it is one that is searched.

        Raises:
            TableDamagedError: It cannot be read.
        """
        partition = parts_of(item)
        parts = () if partition is None else (await self._table.query(partition, limit=None)).items
        turn = turn_from(item, parts)
        if turn.role not in _SEARCHED or turn.content.strip() in ("", FORGOTTEN):
            return []
        vectors = embedding_from(item.body, turn.content, self._models)
        session_id = scope.session_id or ""
        memory = from_turn(session_id, turn, item.expires_at, vectors)
        place = TurnPlace(session_id, turn.id, number)
        return [FoundTurn(place, memory, item.version, self._lacks_an_entry(scope, item, vectors.coarse))]

    def _lacks_an_entry(self, scope: Scope, item: Item, vector: bytes | None) -> bool:
        if self._model is None or (vector is not None and not any(vector)):
            return False
        return vector is None or not is_entered(item.body, scope.user_id, self._model)
