"""Reading running sessions: from their copy where one may be trusted, from the table otherwise."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.kernel.ulids import ulid_before
from mcp_memory_server.domain.sessions.cached_session import CachedSession, CacheMiss, joined, within
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.domain.sessions.turns import Turn, View, seen_as
from mcp_memory_server.errors import CacheUnavailableError, UnavailableError
from mcp_memory_server.ports.metric_catalogue import SESSION_CACHE_READS
from mcp_memory_server.schema.turn_records import TURNS
from mcp_memory_server.services.sessions.session_stores import SessionStores
from mcp_memory_server.services.sessions.stored_turns import TurnPage

NOT_CHECKED = "the table did not answer: turns that others added in the last moments may be missing"
NOT_SENT_YET = "turns that are on their way to the table could not be read"


@dataclass(frozen=True)
class LoadedSession:
    """Turns of a session, oldest first, with what is counted and summed up; ``cursor`` leads further back.

    A conversation that many write to at once lies in several ``partitions``, not all of which may have ``answered``.
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
    """Answers what a running session holds now: every turn acknowledged before the call, by whomever."""

    def __init__(self, stores: SessionStores) -> None:
        self._stores = stores

    async def load(self, scope: Scope, *, view: View = View.CONTEXT, tier: Tier = Tier.STANDARD) -> LoadedSession:
        """Return the turns at hand: the last ones, and of those the important ones, within the budget of a session.

        Raises:
            UnavailableError: Neither a copy nor the table could be read.
        """
        # What waits is read before anything else: what is delivered meanwhile is then found where it went.
        waiting, not_read = ((), ()) if self._stores.outbox_is_in_cache else await self._waiting(scope)
        copy, missing = await self._cached(scope)
        # A whole copy has what waits. If it has not, something was placed there whose answer got lost.
        if isinstance(copy, CachedSession) and joined(copy, waiting) == copy:
            return _at_hand(copy, None, view, missing + not_read)
        if self._stores.outbox_is_in_cache:
            waiting, not_read = await self._waiting(scope)
        page = await self._stores.stored.last(scope, self._stores.limits.turns, View.EVERYTHING)
        found = within(self._stores.limits, joined(cached_session_from(page), waiting))
        loaded = _at_hand(found, page, view, not_read)
        if isinstance(copy, CacheMiss) and loaded.ended_at is None:  # one that is over is seldom asked for again
            await self._fill(scope, copy, page, tier)
        return loaded

    async def last(self, scope: Scope, turns: int, view: View) -> LoadedSession:
        """Return exactly the last turns, from the table and from what is on its way there."""
        waiting, not_read = await self._waiting(scope)
        page = await self._stores.stored.last(scope, turns, view)
        known = {turn.id for turn in page.turns}
        late = [turn for turn in waiting if turn.id not in known]
        told = sorted([*page.turns, *late], key=lambda turn: turn.id)[-turns:]
        more = page.cursor is not None or len(told) < len(page.turns) + len(late)
        return replace(
            _from_page(page, told, view, not_read),
            turn_count=page.turn_count + len(late),
            token_count=page.token_count + sum(turn.token_count for turn in late),
            cursor=TURNS + told[0].id if more and told else None,
        )

    async def before(self, scope: Scope, cursor: str, turns: int, view: View) -> LoadedSession:
        """Return the turns before a cursor. What is on its way to the table comes after all of them."""
        page = await self._stores.stored.before(scope, cursor, turns, view)
        return _from_page(page, page.turns, view, ())

    async def _cached(self, scope: Scope) -> tuple[CachedSession | CacheMiss | None, tuple[str, ...]]:
        copies, trust = self._stores.copies, self._stores.trust
        if copies is None or trust.is_disconnected:
            return None, ()
        missing: tuple[str, ...] = ()
        try:
            look = await self._stores.timeout.ask(trust.read_snapshot)
        except UnavailableError:
            look, missing = trust.last_snapshot, (NOT_CHECKED,)
        copy = None
        if look is not None and look.may_be_served:
            try:
                copy = await copies.load(scope, epoch=look.epoch)
            except CacheUnavailableError:
                copy = None  # the table has the truth; only the speed is lost
        hit = isinstance(copy, CachedSession)
        self._stores.metrics.record(SESSION_CACHE_READS, 1, result="hit" if hit else "miss")
        return copy, missing if hit else ()

    async def _waiting(self, scope: Scope) -> tuple[Sequence[Turn], tuple[str, ...]]:
        if self._stores.outbox is None:
            return (), ()
        try:
            return [queued.turn for queued in await self._stores.outbox.waiting(scope)], ()
        except UnavailableError:
            return (), (NOT_SENT_YET,)

    async def _fill(self, scope: Scope, absent: CacheMiss, page: TurnPage, tier: Tier) -> None:
        stores, look = self._stores, self._stores.trust.last_snapshot
        if stores.copies is None or look is None or not absent.may_be_filled or page.answered < page.partitions:
            return
        with suppress(CacheUnavailableError):  # the next one who asks may try again
            await stores.copies.fill(
                scope,
                cached_session_from(page),
                token=absent.token,
                tier=tier,
                limits=stores.limits,
                now=stores.now(),
                epoch=look.epoch,
            )


def cached_session_from(page: TurnPage) -> CachedSession:
    """Return a page as what a copy is filled with. What is over the limits makes way when it is."""
    tokens = sum(turn.token_count for turn in page.turns)
    gap = ulid_before(page.turns[0].id) if page.cursor is not None and page.turns else ""
    return CachedSession(page.turns, page.turn_count, tokens, page.token_count, page.summary, gap)


def _at_hand(copy: CachedSession, page: TurnPage | None, view: View, missing: tuple[str, ...]) -> LoadedSession:
    unbroken = [turn.id for turn in copy.turns if turn.id > copy.gap]
    found = LoadedSession(Status.COMPLETE, (), 0, 0) if page is None else _from_page(page, copy.turns, view, missing)
    return replace(
        found,
        status=Status.PARTIAL if missing else found.status,
        turns=tuple(seen_as(turn, view) for turn in copy.turns),
        turn_count=copy.count,
        token_count=copy.total_tokens,
        summary=copy.summary,
        cursor=TURNS + unbroken[0] if copy.gap and unbroken else None,
        missing=found.missing or missing,
    )


def _from_page(page: TurnPage, turns: Sequence[Turn], view: View, missing: tuple[str, ...]) -> LoadedSession:
    if page.answered < page.partitions:
        missing = (*missing, f"{page.partitions - page.answered} of {page.partitions} partitions did not answer")
    # A session that goes on after it was ended is a running one.
    ended = page.ended_at is not None and all(turn.at <= page.ended_at for turn in turns)
    return LoadedSession(
        Status.PARTIAL if missing else Status.COMPLETE,
        turns=tuple(seen_as(turn, view) for turn in turns),
        turn_count=page.turn_count,
        token_count=page.token_count,
        summary=page.summary,
        cursor=page.cursor,
        ended_at=page.ended_at if ended else None,
        partitions=page.partitions,
        answered=page.answered,
        missing=missing,
    )
