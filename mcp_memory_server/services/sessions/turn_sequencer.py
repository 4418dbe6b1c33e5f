"""Placing a turn: the copy of its session gives it its id; without a copy the table tells which id it gets."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.cached_session import Appended, CachedSession
from mcp_memory_server.domain.sessions.limits import SETTLING, Tier
from mcp_memory_server.domain.sessions.turns import Turn, View
from mcp_memory_server.errors import CacheUnavailableError, UnavailableError
from mcp_memory_server.ports.session_memory import SessionMemory
from mcp_memory_server.services.sessions.cache_epoch import EpochSnapshot
from mcp_memory_server.services.sessions.session_reader import cached_session_from
from mcp_memory_server.services.sessions.session_stores import SessionStores

RECENT = 25
"""How many of the last turns are looked at for the operation id of a turn that may be a repetition."""
LOOKS = 3
"""How often it is tried again when another process began a new epoch in between."""
SESSIONS_KNOWN = 10_000

_NEVER = EpochSnapshot(0, {}, float("-inf"))


@dataclass(frozen=True)
class PendingTurn:
    """A turn that is to be added to a session. Its id is a proposal."""

    scope: Scope
    turn: Turn
    operation_id: str
    tier: Tier = Tier.STANDARD
    may_be_repeated: bool = True


@dataclass(frozen=True)
class SequencedTurn:
    """The addition with the id that its turn keeps.

    ``in_cache`` tells whether the copies know the turn, or there are none; ``is_queued`` whether the outbox of the
    copies has it too; ``trims`` whether other turns made way for it. ``began`` is when it was begun to place it.
    """

    pending: PendingTurn
    repeated: bool
    in_cache: bool
    began: float
    is_queued: bool = False
    trims: bool = False


class TurnSequencer:
    """Gives turns their ids, which rise strictly within a session, and keeps the copies from missing one."""

    def __init__(self, stores: SessionStores, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._stores = stores
        self._monotonic = monotonic
        self._last_ids = LruCache[Scope, str](SESSIONS_KNOWN)

    async def place(self, pending: PendingTurn, *, enqueue: bool = False) -> SequencedTurn:
        """Give the turn its id and put it into the copy; with ``enqueue``, into the outbox of the copies as well.

        A process that cannot reach the copies says so, and goes on without them.
        """
        began, copies = self._monotonic(), self._stores.copies
        pending = self._after_own_turns(pending)
        placed = None
        if copies is not None and not self._stores.trust.is_disconnected:
            try:
                turn, repeated, trims = await self._in_cache(copies, pending, enqueue=enqueue)
                placed = SequencedTurn(
                    replace(pending, turn=turn),
                    repeated,
                    trims=trims,
                    in_cache=True,
                    began=began,
                    is_queued=enqueue and not repeated,  # the first time it may have been meant for the table
                )
            except CacheUnavailableError:
                self._stores.trust.disconnect()
        if placed is None:
            turn, repeated = await self._after_the_table(pending)
            placed = SequencedTurn(replace(pending, turn=turn), repeated, in_cache=copies is None, began=began)
        self._remember(placed.pending)
        return placed

    def may_be_stored(self, placed: SequencedTurn) -> bool:
        """Tell whether the turn may go to the table now: no copy that is served could miss it."""
        return placed.in_cache or self._stores.trust.may_bypass_cache()

    async def is_known(self, placed: SequencedTurn) -> bool:
        """Make sure that no copy misses the turn, which the table has by now; tell whether that is so."""
        in_time = self._monotonic() - placed.began < SETTLING.total_seconds() / 2
        # A copy that was lost since the turn was placed is not filled before the session has settled.
        return (placed.in_cache and in_time) or await self.note(placed.pending)

    async def note(self, pending: PendingTurn) -> bool:
        """Put a turn of the table into the copy, if it is not there; tell whether no copy can miss it."""
        stores = self._stores
        if stores.copies is None or stores.trust.may_bypass_cache():
            return True
        if stores.trust.is_disconnected:
            return False
        try:
            await stores.copies.note(
                pending.scope,
                pending.turn,
                operation_id=pending.operation_id,
                tier=pending.tier,
                limits=stores.limits,
                now=stores.now(),
                epoch=(await self._snapshot()).epoch,
            )
        except CacheUnavailableError:
            self._stores.trust.disconnect()
            return False
        return True

    async def _snapshot(self) -> EpochSnapshot:
        try:
            return await self._stores.timeout.ask(self._stores.trust.read_snapshot)
        except UnavailableError:
            # What is placed now waits for the table anyway.
            return self._stores.trust.last_snapshot or _NEVER

    async def _in_cache(self, copies: SessionMemory, pending: PendingTurn, *, enqueue: bool) -> tuple[Turn, bool, bool]:
        for _ in range(LOOKS):
            look = await self._snapshot()
            appended = None
            if look.may_be_served:
                appended = await self._append(copies, pending, look, None, enqueue=enqueue)
            if appended is None:
                recent = await self._recent(copies, pending, look)
                if pending.operation_id in recent:
                    return replace(pending.turn, id=recent[pending.operation_id]), True, False
                after = max(recent.values(), default="")
                appended = await self._append(copies, pending, look, after, enqueue=enqueue)
            if appended is not None:
                return replace(pending.turn, id=appended.turn_id), appended.repeated, bool(appended.trimmed)
            await self._stores.timeout.ask(self._stores.trust.refresh)
        raise CacheUnavailableError("the session memory began one epoch after the other")

    async def _recent(self, copies: SessionMemory, pending: PendingTurn, look: EpochSnapshot) -> Mapping[str, str]:
        """Return the last operations that the table knows, with the ids of their turns; fill the copy with it."""
        stores, scope = self._stores, pending.scope
        absent = await copies.load(scope, epoch=look.epoch)
        try:
            page = await stores.timeout.ask(lambda: stores.stored.last(scope, RECENT, View.EVERYTHING))
        except UnavailableError:
            return {"": self._last_ids.get(scope) or ""}  # it waits for the table, which is looked at again then
        if not isinstance(absent, CachedSession) and absent.may_be_filled and page.answered == page.partitions:
            await copies.fill(
                scope,
                cached_session_from(page),
                token=absent.token,
                tier=pending.tier,
                limits=stores.limits,
                now=stores.now(),
                epoch=look.epoch,
            )
        return page.operations

    async def _append(
        self, copies: SessionMemory, pending: PendingTurn, look: EpochSnapshot, after: str | None, *, enqueue: bool
    ) -> Appended | None:
        async def append() -> Appended | None:
            return await copies.append(
                pending.scope,
                pending.turn,
                operation_id=pending.operation_id,
                tier=pending.tier,
                limits=self._stores.limits,
                now=self._stores.now(),
                epoch=look.epoch,
                after=after,
                enqueue=enqueue,
            )

        try:
            return await append()
        except CacheUnavailableError:
            # Giving up costs everybody their copies, so it is tried once more. The operation id keeps it one turn.
            appended = await append()
            return appended and replace(appended, repeated=appended.repeated and pending.may_be_repeated)

    async def _after_the_table(self, pending: PendingTurn) -> tuple[Turn, bool]:
        turn, recent = pending.turn, await self._recent_without_cache(pending)
        if pending.operation_id in recent:
            return replace(turn, id=recent[pending.operation_id]), True
        newest = max(recent.values(), default="")
        return (turn if turn.id > newest else replace(turn, id=ulid_after(newest, turn.at))), False

    async def _recent_without_cache(self, pending: PendingTurn) -> Mapping[str, str]:
        """Return the last operations of the session with the ids of their turns, also of what waits for the table."""
        stores, most = self._stores, RECENT if pending.may_be_repeated else 1
        operations: dict[str, str] = {}
        if stores.outbox is not None:
            with suppress(UnavailableError):
                waiting = await stores.outbox.waiting(pending.scope)
                operations = {queued.operation_id: queued.turn.id for queued in waiting}
        with suppress(UnavailableError):  # then it waits for the table, which is looked at again
            operations |= await stores.timeout.ask(lambda: stores.stored.recent(pending.scope, most))
        return operations

    def _after_own_turns(self, pending: PendingTurn) -> PendingTurn:
        last, turn = self._last_ids.get(pending.scope) or "", pending.turn
        return pending if turn.id > last else replace(pending, turn=replace(turn, id=ulid_after(last, turn.at)))

    def _remember(self, pending: PendingTurn) -> None:
        self._last_ids.update(pending.scope, lambda last: max(last or "", pending.turn.id))
