"""Read running sessions: from the session cache where it may be used, from the table otherwise."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.kernel.ulids import ulid_before
from mcp_memory_server.domain.sessions.cached_session import CacheContext, CachedSession, CacheMiss, joined, within
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.domain.sessions.queued_turns import QueuedTurn
from mcp_memory_server.domain.sessions.turns import Turn, View, newest_within, seen_as
from mcp_memory_server.errors import CacheUnavailableError, UnavailableError
from mcp_memory_server.ports.metric_catalogue import SESSION_CACHE_READS
from mcp_memory_server.schema.turn_records import TURNS
from mcp_memory_server.services.sessions.session_stores import SessionStores
from mcp_memory_server.services.sessions.stored_turns import TurnPage

NOT_CHECKED = "the table did not answer: turns that others added in the last moments may be missing"
OUTBOX_NOT_READ = "turns that wait in the outbox could not be read"


@dataclass(frozen=True)
class LoadedSession:
    """Turns of a session, oldest first, with its counters and summary; ``cursor`` leads further back.

    A hot session lies in several ``partitions``, not all of which may have ``answered``.
    """

    status: Status
    turns: tuple[Turn, ...]
    turn_count: int
    token_count: int
    summary: str | None = None
    cursor: str | None = None
    ended_at: datetime | None = None
    partitions: int = 1
    answered: int = 1
    missing: tuple[str, ...] = ()


class SessionReader:
    """Returns what a running session holds now: every turn acknowledged before the call, by any process."""

    def __init__(self, stores: SessionStores) -> None:
        self._stores = stores

    async def load(self, scope: Scope, *, view: View = View.CONTEXT, tier: Tier = Tier.STANDARD) -> LoadedSession:
        """Return the last turns within the limits of a session: when there are too many, the important ones.

        Raises:
            UnavailableError: Neither the cache nor the table could be read.
        """
        # The outbox is read first: what is delivered meanwhile is then found where it went.
        queued, missing_queued = ((), ()) if self._stores.outbox_is_in_cache else await self._queued(scope)
        cached, missing = await self._cached(scope)
        # A whole cached session counts the queued turns. If not, it was begun after one of them was queued.
        if isinstance(cached, CachedSession) and all(_counts(cached, one) for one in queued):
            return _loaded(cached, None, view, missing + missing_queued)
        if self._stores.outbox_is_in_cache:
            queued, missing_queued = await self._queued(scope)
        ids = [one.turn.id for one in queued] + ([cached.oldest_recorded] if isinstance(cached, CacheMiss) else [])
        # What fills the cache is for every reader; without one only what this reader needs is read.
        wanted = View.EVERYTHING if isinstance(cached, CacheMiss) and cached.may_be_filled else view
        page = await self._stores.stored.last(scope, self._stores.limits.turns, wanted, since=before_all(ids))
        found = within(self._stores.limits, joined(cached_session_from(page), _not_stored(queued, page)))
        loaded = _loaded(found, page, view, missing_queued)
        if isinstance(cached, CacheMiss) and loaded.ended_at is None:  # an ended session is seldom loaded again
            await self._fill(scope, cached, page, tier)
        return loaded

    async def last(self, scope: Scope, turns: int, view: View, *, most_bytes: int | None = None) -> LoadedSession:
        """Return exactly the last turns, from the table and the outbox, or as many of them as fit."""
        queued, missing = await self._queued(scope)
        since = before_all(one.turn.id for one in queued)
        page = await self._stores.stored.last(scope, turns, view, since=since, most_bytes=most_bytes)
        more = _not_stored(queued, page)
        chosen = sorted([*page.turns, *more], key=lambda turn: turn.id)[-turns:]
        if most_bytes is not None:
            chosen = newest_within(chosen, most_bytes)
        has_earlier = page.cursor is not None or len(chosen) < len(page.turns) + len(more)
        return replace(
            _from_page(page, chosen, view, missing),
            turn_count=page.turn_count + len(more),
            token_count=page.token_count + sum(turn.token_count for turn in more),
            cursor=TURNS + chosen[0].id if has_earlier and chosen else None,
        )

    async def before(
        self, scope: Scope, cursor: str, turns: int, view: View, *, most_bytes: int | None = None
    ) -> LoadedSession:
        """Return the turns before a cursor. Queued turns come after all of them."""
        page = await self._stores.stored.before(scope, cursor, turns, view, most_bytes=most_bytes)
        return _from_page(page, page.turns, view, ())

    async def _cached(self, scope: Scope) -> tuple[CachedSession | CacheMiss | None, tuple[str, ...]]:
        cache, epoch = self._stores.cache, self._stores.cache_epoch
        if cache is None or epoch.is_disconnected:
            return None, ()
        missing: tuple[str, ...] = ()
        try:
            snapshot = epoch.fresh_snapshot() or await self._stores.timeout.ask(epoch.read_snapshot)
        except UnavailableError:
            snapshot, missing = epoch.last_snapshot, () if epoch.may_be_relied_on else (NOT_CHECKED,)
        found = None
        if snapshot is not None and snapshot.may_use_cache:
            with suppress(CacheUnavailableError):  # the table has the truth; only the speed is lost
                found = await cache.load(scope, epoch=snapshot.epoch)
        hit = isinstance(found, CachedSession)
        self._stores.metrics.record(SESSION_CACHE_READS, 1, result="hit" if hit else "miss")
        return found, missing if hit else ()

    async def _queued(self, scope: Scope) -> tuple[Sequence[QueuedTurn], tuple[str, ...]]:
        if self._stores.outbox is None:
            return (), ()
        try:
            return await self._stores.outbox.waiting(scope), ()
        except UnavailableError:
            return (), (OUTBOX_NOT_READ,)

    async def _fill(self, scope: Scope, miss: CacheMiss, page: TurnPage, tier: Tier) -> None:
        stores, snapshot = self._stores, self._stores.cache_epoch.last_snapshot
        is_whole = page.answered == page.partitions and not page.unreadable
        if stores.cache is None or snapshot is None or not miss.may_be_filled or not is_whole:
            return
        context = CacheContext(tier, stores.limits, stores.now(), snapshot.epoch)
        with suppress(CacheUnavailableError):  # the next reader may try again
            await stores.cache.fill(scope, cached_session_from(page), context, token=miss.token, stored=page.stored)


def cached_session_from(page: TurnPage) -> CachedSession:
    """Return a page as the session that the cache is filled with. The cache evicts what is over the limits."""
    tokens = sum(turn.token_count for turn in page.turns)
    gap = ulid_before(page.turns[0].id) if page.cursor is not None and page.turns else ""
    return CachedSession(page.turns, page.turn_count, tokens, page.token_count, page.summary, gap)


def before_all(ids: Iterable[str]) -> str | None:
    """Return an id that all of these come after, None if there are none."""
    first = min((id_ for id_ in ids if id_), default=None)
    return None if first is None else ulid_before(first)


def _counts(cached: CachedSession, queued: QueuedTurn) -> bool:
    is_counted = bool(queued.counted_in) and queued.counted_in == cached.token
    return is_counted or any(turn.id == queued.turn.id for turn in cached.turns)


def _not_stored(queued: Iterable[QueuedTurn], page: TurnPage) -> list[Turn]:
    """Return the turns that the table does not hold. The page names all that it holds after the first of them."""
    stored = page.stored.ids | {turn.id for turn in page.turns}
    return [
        one.turn
        for one in queued
        if one.turn.id not in stored and page.operations.get(one.operation_id, one.turn.id) == one.turn.id
    ]


def _loaded(session: CachedSession, page: TurnPage | None, view: View, missing: tuple[str, ...]) -> LoadedSession:
    unbroken = [turn.id for turn in session.turns if turn.id > session.gap]
    found = LoadedSession(Status.COMPLETE, (), 0, 0) if page is None else _from_page(page, session.turns, view, missing)
    return replace(
        found,
        status=Status.PARTIAL if missing else found.status,
        turns=tuple([seen_as(turn, view) for turn in session.turns]),
        turn_count=session.count,
        token_count=session.total_tokens,
        summary=session.summary,
        cursor=TURNS + unbroken[0] if session.gap and unbroken else None,
        missing=found.missing or missing,
    )


def _from_page(page: TurnPage, turns: Sequence[Turn], view: View, missing: tuple[str, ...]) -> LoadedSession:
    if page.answered < page.partitions:
        missing = (*missing, f"{page.partitions - page.answered} of {page.partitions} partitions did not answer")
    if page.unreadable:
        missing = (*missing, f"{page.unreadable} turns could not be read")
    # A session that got a turn after it was ended is running again.
    ended = page.ended_at is not None and all(turn.at <= page.ended_at for turn in turns)
    return LoadedSession(
        Status.PARTIAL if missing else Status.COMPLETE,
        turns=tuple([seen_as(turn, view) for turn in turns]),
        turn_count=page.turn_count,
        token_count=page.token_count,
        summary=page.summary,
        cursor=page.cursor,
        ended_at=page.ended_at if ended else None,
        partitions=page.partitions,
        answered=page.answered,
        missing=missing,
    )
