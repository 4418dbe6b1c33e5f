"""Stores of sessions for every engine; each test gets a client of its own, and a clock that it may move."""

from collections.abc import AsyncIterator

import pytest

from tests.clock import FakeClock
from tests.stores.sessions import OpenSessions, RedisStores, SessionStores

SESSION_ENGINES = ("redis", "redis-cluster")


@pytest.fixture(params=SESSION_ENGINES)
def session_stores(request: pytest.FixtureRequest) -> SessionStores:
    if request.param == "redis":
        return RedisStores(request.getfixturevalue("shared_redis").url)
    return RedisStores(request.getfixturevalue("redis_cluster_url"))


@pytest.fixture
async def client(session_stores: SessionStores, clock: FakeClock) -> AsyncIterator[OpenSessions]:
    opened = await session_stores.open(clock)
    yield opened
    await opened.close()


@pytest.fixture
async def other_client(session_stores: SessionStores, clock: FakeClock) -> AsyncIterator[OpenSessions]:
    """The same stores, as another process opens them."""
    opened = await session_stores.open(clock)
    yield opened
    await opened.close()
