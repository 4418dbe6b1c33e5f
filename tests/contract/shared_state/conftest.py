"""Stores of shared states: in a table, with each channel that announces changes, and without one."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import pytest

from mcp_memory_server.adapters.redis.sessions import open_redis
from mcp_memory_server.ports.shared_state_store import SharedStateStore
from mcp_memory_server.services.sessions.table_states import TableStates
from tests.clock import FakeClock
from tests.stores.sessions import PATIENCE
from tests.stores.tables import Address, SqliteAddress

POLL, NEVER = timedelta(milliseconds=5), timedelta(days=1)


class Place(Protocol):
    def open(self, clock: FakeClock) -> AbstractAsyncContextManager[SharedStateStore]: ...


@dataclass(frozen=True)
class Announced:
    """A table whose states are announced in this Redis."""

    address: Address
    url: str

    @asynccontextmanager
    async def open(self, clock: FakeClock) -> AsyncIterator[SharedStateStore]:
        table, sessions = await self.address.open(clock), open_redis(self.url, deadline=PATIENCE)
        yield TableStates(table, clock, poll=NEVER, channel=sessions.channel)
        await sessions.close()
        await table.close()


@dataclass(frozen=True)
class InTable:
    address: Address

    @asynccontextmanager
    async def open(self, clock: FakeClock) -> AsyncIterator[SharedStateStore]:
        table = await self.address.open(clock)
        yield TableStates(table, clock, poll=POLL)
        await table.close()


@pytest.fixture(params=("redis", "redis-cluster", "sqlite"))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "redis":
        return Announced(SqliteAddress(tmp_path / "memory.db"), request.getfixturevalue("shared_redis").url)
    if request.param == "redis-cluster":
        return Announced(SqliteAddress(tmp_path / "memory.db"), request.getfixturevalue("redis_cluster_url"))
    # The other tables keep the same promises, which tests/contract/item_table checks.
    return InTable(SqliteAddress(tmp_path / "memory.db"))


@pytest.fixture
async def states(place: Place, clock: FakeClock) -> AsyncIterator[SharedStateStore]:
    async with place.open(clock) as opened:
        yield opened


@pytest.fixture
async def other_states(place: Place, clock: FakeClock) -> AsyncIterator[SharedStateStore]:
    """The same store, as another process opens it."""
    async with place.open(clock) as opened:
        yield opened
