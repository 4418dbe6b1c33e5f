"""Where a session memory lies: a value from which several clients open the same one."""

import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol, cast

from mcp_memory_server.adapters.redis.session_memory import open_redis
from mcp_memory_server.adapters.sqlite.session_memory import SqliteSessionMemory
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.session_copies import Appended
from mcp_memory_server.domain.sessions import Limits, Tier
from mcp_memory_server.domain.turns import Role, Turn
from mcp_memory_server.domain.ulids import ulid_after
from mcp_memory_server.ports.session_memory import SessionMemory
from tests.clock import FakeClock
from tests.contract.addresses import Now

PATIENCE = timedelta(seconds=30)
"""The engines share two cores with the tests: the deadline of the product is tested elsewhere."""
NOW = FakeClock()()


class SessionStore(Protocol):
    async def open(self, now: Now) -> SessionMemory: ...


@dataclass(frozen=True)
class SqliteStore:
    path: Path

    async def open(self, now: Now) -> SessionMemory:
        return await SqliteSessionMemory.open(self.path, now=now, deadline=PATIENCE)


@dataclass(frozen=True)
class RedisStore:
    url: str

    async def open(self, now: Now) -> SessionMemory:  # noqa: ARG002
        return open_redis(self.url, deadline=PATIENCE)


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
    memory: SessionMemory,
    scope: Scope,
    turn: Turn | None = None,
    *,
    operation: str | None = None,
    tier: Tier = Tier.STANDARD,
    limits: Limits | None = None,
    now: datetime = NOW,
) -> Appended:
    return await memory.append(
        scope,
        turn or a_turn(at=now),
        operation_id=operation or uuid.uuid4().hex,
        tier=tier,
        limits=limits or Limits(),
        now=now,
    )


async def begin(memory: SessionMemory, scope: Scope, *, tier: Tier = Tier.STANDARD, now: datetime = NOW) -> None:
    """Begin a new session whole."""
    assert await memory.fill(scope, (), count=0, tier=tier, now=now)


def watching(memory: SessionMemory, scope: Scope) -> aclosing[AsyncGenerator[int]]:
    """Watch the state, and stop at the end of the block."""
    return aclosing(cast("AsyncGenerator[int]", memory.watch_state(scope)))
