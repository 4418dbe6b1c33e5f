"""An outbox and a store of dead letters for every engine; each test gets fresh ones."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mcp_memory_server.ports.dead_letters import DeadLetters
from mcp_memory_server.ports.outbox import Outbox
from tests.clock import FakeClock
from tests.stores.outboxes import (
    LetterStore,
    OutboxStore,
    RedisOutboxStore,
    SqliteLetterStore,
    SqliteOutboxStore,
    sqs_queue,
)

OUTBOX_ENGINES = ("sqlite", "redis", "redis-cluster")
LETTER_ENGINES = ("sqlite", "sqs")


@pytest.fixture(params=OUTBOX_ENGINES)
def outbox_store(request: pytest.FixtureRequest, tmp_path: Path) -> OutboxStore:
    if request.param == "sqlite":
        return SqliteOutboxStore(tmp_path / "outbox.db")
    is_cluster = request.param == "redis-cluster"
    url = request.getfixturevalue("redis_cluster_url") if is_cluster else request.getfixturevalue("shared_redis").url
    store = RedisOutboxStore(url)
    store.empty()
    return store


@pytest.fixture
async def outbox(outbox_store: OutboxStore, clock: FakeClock) -> AsyncIterator[Outbox]:
    outbox = outbox_store.open(clock)
    yield outbox
    await outbox.close()


@pytest.fixture
async def other_outbox(outbox_store: OutboxStore, clock: FakeClock) -> AsyncIterator[Outbox]:
    """The same outbox, as another process sees it."""
    outbox = outbox_store.open(clock)
    yield outbox
    await outbox.close()


@pytest.fixture(params=LETTER_ENGINES)
def letter_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LetterStore]:
    if request.param == "sqlite":
        yield SqliteLetterStore(tmp_path / "outbox.db")
        return
    with sqs_queue(request.getfixturevalue("moto_endpoint")) as queue:
        yield queue


@pytest.fixture
async def dead_letters(letter_store: LetterStore, clock: FakeClock) -> AsyncIterator[DeadLetters]:
    letters = letter_store.open(clock)
    yield letters
    await letters.close()


@pytest.fixture
async def other_dead_letters(letter_store: LetterStore, clock: FakeClock) -> AsyncIterator[DeadLetters]:
    """The same letters, as another process sees them."""
    letters = letter_store.open(clock)
    yield letters
    await letters.close()
