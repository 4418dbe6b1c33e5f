"""Conversations: append a turn, load a session with one query, page back through all of it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from mcp_memory_server.domain.answers import Status
from mcp_memory_server.domain.importance import importance
from mcp_memory_server.domain.items import Item, check_operation_id
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.turns import NewTurn, Turn, View, kept_as
from mcp_memory_server.domain.ulids import ulid_after
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.schema.turn_records import (
    META,
    SUMMARY,
    TOKEN_COUNT,
    TURN_COUNT,
    TURNS,
    attributes_for,
    counted,
    parts_of,
    session_partition,
    turn_from,
    turn_id,
    written,
)
from mcp_memory_server.services.writing import until_it_holds

DEFAULT_TURNS = 20
MOST_TURNS = 500
RECENT = 25
"""How many of the last turns are looked at for the operation id of a turn that may be a repetition."""


@dataclass(frozen=True)
class AppendedTurn:
    """The turn as it was kept. It was there before if the operation was repeated."""

    turn: Turn
    repeated: bool = False


@dataclass(frozen=True)
class LoadedSession:
    """The last turns of a session, oldest first, with what is counted and summed up; ``cursor`` leads further back."""

    status: Status
    turns: tuple[Turn, ...]
    turn_count: int
    token_count: int
    summary: str | None = None
    cursor: str | None = None


class Conversations:
    """The turns of sessions in the table. An acknowledged turn is never lost, and no turn is kept twice."""

    def __init__(self, table: ItemTable, count: TokenCounter, now: Callable[[], datetime]) -> None:
        self._table = table
        self._count = count
        self._now = now

    async def append(self, scope: Scope, new: NewTurn, *, operation_id: str | None = None) -> AppendedTurn:
        """Keep a turn and return it with its id, which sorts after that of every turn acknowledged before.

        The same operation id twice keeps one turn, and counts it once.
        """
        check_operation_id(operation_id)
        operation = operation_id or uuid4().hex
        look_back = RECENT if operation_id else 1
        # Again in the unlikely case that two writers chose the same id.
        return await until_it_holds(lambda: self._append(scope, new, operation, look_back))

    async def load(self, scope: Scope, *, turns: int = DEFAULT_TURNS, view: View = View.CONTEXT) -> LoadedSession:
        """Return the last turns, the counters and the rolling summary with one query, however long the session is."""
        _check_limit(turns)
        partition = session_partition(scope)
        page = await self._table.query(partition, descending=True, limit=turns + 2, attributes=attributes_for(view))
        beside = {item.key.sk: item for item in page.items if not item.key.sk.startswith(TURNS)}
        newest = [item for item in page.items if item.key.sk.startswith(TURNS)]
        told = newest[:turns]
        more = page.cursor is not None or len(newest) > turns
        return LoadedSession(
            Status.COMPLETE,
            await self._in_order(told),
            turn_count=_counted(beside.get(META), TURN_COUNT),
            token_count=_counted(beside.get(META), TOKEN_COUNT),
            summary=_summary(beside.get(SUMMARY)),
            cursor=told[-1].key.sk if more and told else None,
        )

    async def before(
        self, scope: Scope, cursor: str, *, turns: int = DEFAULT_TURNS, view: View = View.CONTEXT
    ) -> tuple[tuple[Turn, ...], str | None]:
        """Return the turns before a cursor, oldest first, and the cursor that leads further back.

        New turns do not disturb it: a cursor is a place in the conversation.
        """
        _check_limit(turns)
        if not cursor.startswith(TURNS):
            raise InvalidRequestError("the cursor is not one of a conversation; load the session to get one")
        page = await self._table.query(
            session_partition(scope),
            prefix=TURNS,
            descending=True,
            limit=turns,
            cursor=cursor,
            attributes=attributes_for(view),
        )
        return await self._in_order(page.items), page.cursor

    async def _append(self, scope: Scope, new: NewTurn, operation: str, look_back: int) -> AppendedTurn:
        recent = await self._recent(scope, look_back)
        for item in recent:
            if item.operation_id == operation:
                return AppendedTurn(await self._whole(item), repeated=True)
        turn = self._kept(new, turn_id(recent[0]) if recent else None)
        await self._write(scope, turn, operation)
        return AppendedTurn(turn)

    async def _recent(self, scope: Scope, most: int) -> Sequence[Item]:
        page = await self._table.query(
            session_partition(scope), prefix=TURNS, descending=True, limit=most, attributes=()
        )
        return page.items

    def _kept(self, new: NewTurn, last: str | None) -> Turn:
        tokens = self._count(new.content) if new.token_count is None else new.token_count
        weight = importance(new.role, new.content) if new.importance is None else new.importance
        return kept_as(new, ulid_after(last, new.said_at or self._now()), tokens=tokens, importance=weight)

    async def _write(self, scope: Scope, turn: Turn, operation: str) -> None:
        items = written(scope, turn)
        for part in items.parts:
            await self._table.put(part, operation_id=operation)
        await self._table.write([items.turn, counted(scope, turn, self._now())], operation_id=operation)

    async def _in_order(self, newest_first: Sequence[Item]) -> tuple[Turn, ...]:
        return tuple(await asyncio.gather(*(self._joined(item) for item in reversed(newest_first))))

    async def _joined(self, item: Item) -> Turn:
        partition = parts_of(item)
        parts = () if partition is None else (await self._table.query(partition, limit=None)).items
        return turn_from(item, parts)

    async def _whole(self, item: Item) -> Turn:
        stored = await self._table.get(item.key)
        return await self._joined(stored or item)


def _check_limit(turns: int) -> None:
    if not 1 <= turns <= MOST_TURNS:
        raise InvalidRequestError(f"1 to {MOST_TURNS} turns can be loaded at once, got {turns}")


def _counted(meta: Item | None, name: str) -> int:
    value = None if meta is None else meta.body.get(name)
    return value if isinstance(value, int) else 0


def _summary(item: Item | None) -> str | None:
    text = None if item is None else item.body.get("text")
    return text if isinstance(text, str) else None
