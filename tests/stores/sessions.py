"""Where the stores of sessions are: a value from which several clients open the same ones."""

import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, cast

from mcp_memory_server.adapters.redis.sessions import open_redis
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.cached_session import Appended, CacheContext, CachedSession, CacheMiss, StoredIds
from mcp_memory_server.domain.sessions.limits import Limits, Tier
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import Role, Turn
from mcp_memory_server.ports.session_cache import SessionCache
from mcp_memory_server.ports.session_deadlines import SessionDeadlines
from mcp_memory_server.ports.shared_state_store import SharedStateStore
from mcp_memory_server.ports.state_channel import StateChannel
from tests.clock import FakeClock
from tests.stores.tables import Now

PATIENCE = timedelta(seconds=30)
"""The engines share two cores with the tests: the deadline of the product is tested elsewhere."""
NOW = FakeClock()()


AT_ONCE = timedelta(0)
EPOCH = 7


class OpenSessions(Protocol):
    """What one client opens: the session cache, the channel of shared states and the deadlines of one store."""

    @property
    def cache(self) -> SessionCache: ...

    @property
    def channel(self) -> StateChannel: ...

    @property
    def deadlines(self) -> SessionDeadlines: ...

    async def close(self) -> None: ...


class SessionStores(Protocol):
    async def open(self, now: Now, settling: timedelta = AT_ONCE) -> OpenSessions: ...


@dataclass(frozen=True)
class RedisStores:
    url: str
    namespace: str = ""

    async def open(self, now: Now, settling: timedelta = AT_ONCE) -> OpenSessions:  # noqa: ARG002
        return open_redis(self.url, namespace=self.namespace, deadline=PATIENCE, settling=settling)


def new_scope() -> Scope:
    return Scope(f"ana-{uuid.uuid4().hex}", "session")


def a_turn(
    content: str = "hello", *, at: datetime = NOW, tokens: int = 10, importance: float = 0.5, turn_id: str | None = None
) -> Turn:
    return Turn(
        turn_id or ulid_after(None, at), Role.USER, content, token_count=tokens, importance=importance, agent="clerk"
    )


def turns_in_order(count: int, *, after: str | None = None) -> list[Turn]:
    turns: list[Turn] = []
    for number in range(count):
        after = ulid_after(after, NOW)
        turns.append(a_turn(f"turn {number}", turn_id=after))
    return turns


async def append(
    memory: OpenSessions,
    scope: Scope,
    turn: Turn | None = None,
    *,
    operation: str | None = None,
    tier: Tier = Tier.STANDARD,
    limits: Limits | None = None,
    now: datetime = NOW,
    epoch: int = EPOCH,
    after: str | None = None,
) -> Appended:
    """Append a turn that must not be refused."""
    appended = await try_to_append(
        memory, scope, turn, operation=operation, tier=tier, limits=limits, now=now, epoch=epoch, after=after
    )
    assert appended is not None
    return appended


async def try_to_append(
    memory: OpenSessions,
    scope: Scope,
    turn: Turn | None = None,
    *,
    operation: str | None = None,
    tier: Tier = Tier.STANDARD,
    limits: Limits | None = None,
    now: datetime = NOW,
    epoch: int = EPOCH,
    after: str | None = None,
) -> Appended | None:
    write = TurnWrite(scope, turn or a_turn(at=now), operation or uuid.uuid4().hex)
    return await memory.cache.append(write, CacheContext(tier, limits or Limits(), now, epoch), after=after)


async def record_stored(
    memory: OpenSessions,
    scope: Scope,
    turn: Turn,
    *,
    operation: str | None = None,
    limits: Limits | None = None,
    now: datetime = NOW,
    epoch: int = EPOCH,
    counted_in: str = "",
) -> None:
    write = TurnWrite(scope, turn, operation or uuid.uuid4().hex)
    context = CacheContext(Tier.STANDARD, limits or Limits(), now, epoch)
    await memory.cache.record_stored(write, context, counted_in=counted_in)


async def token_for(memory: OpenSessions, scope: Scope, *, epoch: int = EPOCH) -> str:
    """Return the token with which a session is filled that is not cached yet."""
    found = await memory.cache.load(scope, epoch=epoch)
    assert isinstance(found, CacheMiss)
    return found.token


async def load_whole(memory: OpenSessions, scope: Scope, *, epoch: int = EPOCH) -> CachedSession:
    """Return the cached session, which must be whole."""
    found = await memory.cache.load(scope, epoch=epoch)
    assert isinstance(found, CachedSession)
    return found


def cached(
    turns: Sequence[Turn],
    *,
    count: int | None = None,
    total: int | None = None,
    summary: str | None = None,
    gap: str = "",
) -> CachedSession:
    """Return a session as it is filled from a table that has these turns."""
    tokens = sum(turn.token_count for turn in turns)
    return CachedSession(
        tuple(turns), len(turns) if count is None else count, tokens, tokens if total is None else total, summary, gap
    )


async def fill(
    memory: OpenSessions,
    scope: Scope,
    session: CachedSession,
    token: str,
    *,
    tier: Tier = Tier.STANDARD,
    limits: Limits | None = None,
    now: datetime = NOW,
    epoch: int = EPOCH,
    stored: StoredIds | None = None,
) -> bool:
    context = CacheContext(tier, limits or Limits(), now, epoch)
    return await memory.cache.fill(scope, session, context, token=token, stored=stored)


async def begin(
    memory: OpenSessions,
    scope: Scope,
    session: CachedSession | None = None,
    *,
    tier: Tier = Tier.STANDARD,
    now: datetime = NOW,
    epoch: int = EPOCH,
) -> None:
    """Make a session whole: a new one, unless the turns of the table are given."""
    token = await token_for(memory, scope, epoch=epoch)
    assert await fill(memory, scope, session or cached(()), token, tier=tier, now=now, epoch=epoch)


def watching(states: SharedStateStore, scope: Scope) -> aclosing[AsyncGenerator[int]]:
    """Watch the state, and stop at the end of the block."""
    return aclosing(cast("AsyncGenerator[int]", states.watch(scope)))


def listening(channel: StateChannel, scope: Scope) -> aclosing[AsyncGenerator[None]]:
    """Listen for changes of the state, and stop at the end of the block."""
    return aclosing(cast("AsyncGenerator[None]", channel.listen(scope)))
