"""One session memory for every engine; each test gets a fresh one, and a clock that it may move."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.clock import FakeClock
from tests.stores.sessions import OpenSessions, RedisStore, SessionStore, SqliteStore

SESSION_ENGINES = ("sqlite", "redis", "redis-cluster")


@pytest.fixture(params=SESSION_ENGINES)
def session_store(request: pytest.FixtureRequest, tmp_path: Path) -> SessionStore:
    if request.param == "sqlite":
        return SqliteStore(tmp_path / "sessions.db")
    if request.param == "redis":
        return RedisStore(request.getfixturevalue("shared_redis").url)
    return RedisStore(request.getfixturevalue("redis_cluster_url"))


@pytest.fixture
async def session_memory(session_store: SessionStore, clock: FakeClock) -> AsyncIterator[OpenSessions]:
    memory = await session_store.open(clock)
    yield memory
    await memory.close()


@pytest.fixture
async def other_client(session_store: SessionStore, clock: FakeClock) -> AsyncIterator[OpenSessions]:
    """The same session memory, as another process sees it."""
    memory = await session_store.open(clock)
    yield memory
    await memory.close()
