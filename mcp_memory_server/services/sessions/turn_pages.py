"""Pages of a conversation, read from all of its partitions, with an exact count."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from mcp_memory_server.domain.kernel.items import Item
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_before
from mcp_memory_server.domain.sessions.cached_session import StoredIds
from mcp_memory_server.domain.sessions.counts import Counters, KnownCounts, Line, not_counted, uncounted_after
from mcp_memory_server.domain.sessions.turns import Turn, View, newest_within
from mcp_memory_server.errors import InvalidRequestError, TableDamagedError, UnavailableError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.turn_records import (
    COUNTED,
    FROM_TURNS_ON,
    META,
    OPERATION,
    RECOGNISED,
    SUMMARY,
    TURNS,
    attributes_for,
    counters_from,
    line_from,
    meta_key,
    operation_of,
    parts_of,
    session_partition,
    summary_from,
    turn_from,
    turn_id,
)

READ_AGAIN = 5
"""How often a page is read again because turns were counted while it was read."""

BESIDE_TURNS = 2
"""The counters and the rolling summary sort after the turns, and are read with them."""


@dataclass(frozen=True)
class TurnPage:
    """Turns of a session, oldest first, with what is counted and summed up of all of it.

    ``operations`` maps an operation to the id of its turn. ``cursor`` leads further back. ``answered`` of the
    ``partitions`` of the session did so in time: of the others nothing is here. ``ended_at`` is when the session was
    last ended; turns after that mean that it goes on. ``stored`` names the turns that the table holds before these.
    ``unreadable`` turns are left out; they are counted in ``turn_count`` if they were counted before.
    """

    turns: tuple[Turn, ...]
    operations: Mapping[str, str]
    turn_count: int
    token_count: int
    summary: str | None
    ended_at: datetime | None
    cursor: str | None
    partitions: int = 1
    answered: int = 1
    stored: StoredIds = field(default_factory=StoredIds)
    unreadable: int = 0


@dataclass(frozen=True)
class _Part:
    """The newest turns of one partition, newest first; and what has to be counted of those that lie before them."""

    items: Sequence[Item]
    has_more: bool
    before: Sequence[Line] = ()
    unreadable: int = 0


class TurnPages:
    """Reads conversations. A session that was never hot takes one query."""

    def __init__(self, table: ItemTable) -> None:
        self._table = table

    async def last(
        self,
        scope: Scope,
        turns: int,
        view: View,
        known: KnownCounts,
        *,
        since: str | None = None,
        most_bytes: int | None = None,
    ) -> tuple[TurnPage, Counters]:
        """Return the last turns, and the counters as they were read. What was known before is not read to be counted.

        With ``since``, the page names every turn after that id. With ``most_bytes`` it ends before the turn that is too
        much, unless that is the only one.

        Raises:
            UnavailableError: The first partition, which has the counters, did not answer.
        """
        page, counters = await self._last(scope, turns, view, known, since, most_bytes)
        for _ in range(READ_AGAIN):
            # A turn that was stored and counted between two queries would be in the one and not in the other.
            if since is None or counters.version == counters_from(await self._table.get(meta_key(scope))).version:
                break
            page, counters = await self._last(scope, turns, view, known, since, most_bytes)
        return page, counters

    async def _last(
        self,
        scope: Scope,
        turns: int,
        view: View,
        known: KnownCounts,
        since: str | None,
        most_bytes: int | None,
    ) -> tuple[TurnPage, Counters]:
        attributes = attributes_for(view)
        first, counters, summary = await self._first(scope, turns, attributes)
        after = _first_of(uncounted_after(counters, known.writers), since)
        first = await self._with_uncounted(scope, 0, first, after)

        async def read(number: int) -> _Part:
            part = await self._part(scope, number, turns, attributes)
            return await self._with_uncounted(scope, number, part, after)

        parts = [first, *await _those_that_answer(read(number) for number in range(1, counters.partitions))]
        lines = [line for part in parts for line in (*map(line_from, part.items), *part.before)]
        # Without the watermark, the session was erased since, and what was known of it with it.
        lines += [line for line in known.lines if line.writer in counters.watermarks]
        page = await self._page(parts, turns, counters, lines, summary, most_bytes)
        return page if since is None else replace(page, stored=_stored_after(since, page, parts)), counters

    async def before(
        self, scope: Scope, cursor: str, turns: int, view: View, *, most_bytes: int | None = None
    ) -> tuple[TurnPage, Counters]:
        """Return the turns before a cursor. What is counted here is only what is stored as counted."""
        if not cursor.startswith(TURNS):
            raise InvalidRequestError("the cursor is not one of a conversation; load the session to get one")
        attributes = attributes_for(view)
        meta, first = await asyncio.gather(
            self._table.get(meta_key(scope)), self._part(scope, 0, turns, attributes, cursor)
        )
        counters = counters_from(meta)
        others = (self._part(scope, number, turns, attributes, cursor) for number in range(1, counters.partitions))
        parts = [first, *await _those_that_answer(others)]
        return await self._page(parts, turns, counters, (), None, most_bytes), counters

    async def recent(self, scope: Scope, turns: int) -> tuple[dict[str, str], Counters]:
        """Return the operations of the last turns with the ids of their turns, and the counters.

        Raises:
            UnavailableError: Not every partition answered.
        """
        first, counters, _ = await self._first(scope, turns, RECOGNISED)
        if counters.partitions == 1:
            return _operations(first.items[:turns]), counters
        numbers = range(1, counters.partitions)
        others = await asyncio.gather(*(self._part(scope, number, turns, (OPERATION,)) for number in numbers))
        return _operations(_newest([first, *others], turns)), counters

    async def _first(
        self, scope: Scope, turns: int, attributes: Sequence[str] | None
    ) -> tuple[_Part, Counters, str | None]:
        """Read the first partition: its newest turns, the counters and the summary, with one query."""
        page = await self._table.query(
            session_partition(scope),
            between=FROM_TURNS_ON,
            descending=True,
            limit=turns + BESIDE_TURNS,
            attributes=attributes,
        )
        items = list(page.items)
        beside = dict[str, Item]()
        while items and not items[0].key.sk.startswith(TURNS):  # what lies beside the turns sorts after them
            item = items.pop(0)
            beside[item.key.sk] = item
        rolled = beside.get(SUMMARY)
        summary = None if rolled is None or rolled.is_damaged else summary_from(rolled)
        return _part_of(items, has_more=page.cursor is not None), counters_from(beside.get(META)), summary

    async def _part(
        self, scope: Scope, number: int, turns: int, attributes: Sequence[str] | None, cursor: str | None = None
    ) -> _Part:
        page = await self._table.query(
            session_partition(scope, number),
            prefix=TURNS,
            descending=True,
            limit=turns,
            cursor=cursor,
            attributes=attributes,
        )
        return _part_of(page.items, has_more=page.cursor is not None)

    async def _with_uncounted(self, scope: Scope, number: int, part: _Part, after: str | None) -> _Part:
        """Read on where turns that are not counted yet may lie before those that were read."""
        if after is None or not part.has_more or not part.items or turn_id(part.items[-1]) <= after:
            return part
        oldest = part.items[-1].key.sk
        page = await self._table.query(
            session_partition(scope, number), between=(TURNS + after, oldest), limit=None, attributes=COUNTED
        )
        before = [line_from(item) for item in page.items if not item.is_damaged]
        return replace(part, before=before)

    async def _page(
        self,
        parts: Sequence[_Part],
        turns: int,
        counters: Counters,
        lines: Iterable[Line],
        summary: str | None,
        most_bytes: int | None,
    ) -> TurnPage:
        newest = _newest(parts, turns)
        shown = await self._turns(newest, most_bytes)
        newest = newest[: len(shown)]
        more = any(part.has_more for part in parts) or len(newest) < len(_newest(parts, None))
        uncounted = not_counted(lines, counters)
        readable = tuple(turn for turn in shown if turn is not None)
        return TurnPage(
            turns=readable,
            operations=_operations(newest),
            turn_count=counters.turns + uncounted.turns,
            token_count=counters.tokens + uncounted.tokens,
            summary=summary,
            ended_at=counters.ended_at,
            cursor=newest[-1].key.sk if more and newest else None,
            partitions=counters.partitions,
            answered=len(parts),
            stored=StoredIds(ulid_before(turn_id(newest[-1])) if more and newest else ""),
            unreadable=sum(part.unreadable for part in parts) + len(shown) - len(readable),
        )

    async def _turns(self, newest: Sequence[Item], most_bytes: int | None) -> list[Turn | None]:
        """Return the turns, oldest first, as many of the newest ones as fit; None for those that cannot be read."""
        if most_bytes is None:
            return await asyncio.gather(*map(self._turn, reversed(newest)))
        turns: list[Turn | None] = []
        for item in newest:  # one after the other: a short item can be a long text
            turns.insert(0, await self._turn(item))
            readable = [turn for turn in turns if turn is not None]
            if len(newest_within(readable, most_bytes)) < len(readable):
                return turns[1:]
        return turns

    async def _turn(self, item: Item) -> Turn | None:
        """Return the turn, None if its content cannot be read."""
        partition = parts_of(item)
        parts = () if partition is None else (await self._table.query(partition, limit=None)).items
        try:
            return turn_from(item, parts)
        except TableDamagedError:
            return None


def _part_of(items: Sequence[Item], *, has_more: bool) -> _Part:
    readable = [item for item in items if not item.is_damaged]
    return _Part(readable, has_more, unreadable=len(items) - len(readable))


def _first_of(one: str | None, other: str | None) -> str | None:
    return min((id_ for id_ in (one, other) if id_ is not None), default=None)


def _stored_after(since: str, page: TurnPage, parts: Sequence[_Part]) -> StoredIds:
    """Return the turns that the table holds after this id, or after the gap of the page if that comes first."""
    first = min(since, page.stored.since)
    ids = (id_ for part in parts for id_ in (*map(turn_id, part.items), *(line.id for line in part.before)))
    return StoredIds(first, frozenset(id_ for id_ in ids if id_ > first))


async def _those_that_answer(reads: Iterable[Coroutine[Any, Any, _Part]]) -> list[_Part]:
    outcomes = await asyncio.gather(*reads, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, UnavailableError):
            raise outcome
    return [outcome for outcome in outcomes if isinstance(outcome, _Part)]


def _newest(parts: Sequence[_Part], most: int | None) -> list[Item]:
    """Return the newest turns of all partitions, newest first, each once."""
    items = {item.key.sk: item for part in parts for item in part.items}
    return [items[sk] for sk in sorted(items, reverse=True)[:most]]


def _operations(items: Iterable[Item]) -> dict[str, str]:
    return {operation: turn_id(item) for item in items if (operation := operation_of(item)) is not None}
