"""One table and one session memory for every engine; each test gets a fresh one, and a clock that it may move."""

from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.ports.dead_letters import DeadLetters
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.outbox import Outbox
from mcp_memory_server.ports.session_memory import SessionMemory
from tests.clock import FakeClock
from tests.contract.addresses import Address, DaxAddress, DynamoDbTables, SqliteAddress
from tests.contract.outbox_stores import (
    LetterStore,
    OutboxStore,
    RedisOutboxStore,
    SqliteLetterStore,
    SqliteOutboxStore,
    sqs_queue,
)
from tests.contract.session_stores import RedisStore, SessionStore, SqliteStore, new_scope

ENGINES = ("sqlite", "dynamodb-local", "moto", "dax")
SLOW_THROUGH_DAX = {
    "test_conversations_on_every_engine",
    "test_item_table_index",
    "test_item_table_model",
    "test_item_table_pages",
    "test_item_table_query",
    "test_item_table_values",
}
"""What mostly goes around the cluster, or has very many cases."""
SESSION_ENGINES = ("sqlite", "redis", "redis-cluster")
OUTBOX_ENGINES = ("sqlite", "redis", "redis-cluster")
LETTER_ENGINES = ("sqlite", "sqs")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        called_with = getattr(item, "callspec", None)
        if item.path.stem in SLOW_THROUGH_DAX and called_with and called_with.params.get("table_address") == "dax":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def dynamodb_local_tables(dynamodb_local_endpoint: str) -> Iterator[DynamoDbTables]:
    with closing(DynamoDbTables(dynamodb_local_endpoint)) as tables:
        yield tables


@pytest.fixture(scope="session")
def moto_tables(moto_endpoint: str) -> Iterator[DynamoDbTables]:
    with closing(DynamoDbTables(moto_endpoint)) as tables:
        yield tables


@pytest.fixture(params=ENGINES)
def table_address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Address]:
    if request.param == "sqlite":
        yield SqliteAddress(tmp_path / "memory.db")
        return
    if request.param == "dax":
        cluster = request.getfixturevalue("shared_dax")
        local: DynamoDbTables = request.getfixturevalue("dynamodb_local_tables")
        with local.fresh() as behind:
            yield DaxAddress(cluster.url, behind.endpoint, behind.table, near=True)
        return
    tables: DynamoDbTables = request.getfixturevalue(f"{request.param.replace('-', '_')}_tables")
    with tables.fresh() as address:
        yield address


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> str:
    """The engine of this test, for the few promises that one of them cannot show."""
    return request.node.callspec.params["table_address"]


@pytest.fixture
async def item_table(table_address: Address, clock: FakeClock) -> AsyncIterator[ItemTable]:
    table = await table_address.open(clock)
    yield table
    await table.close()


@pytest.fixture(params=SESSION_ENGINES)
def session_store(request: pytest.FixtureRequest, tmp_path: Path) -> SessionStore:
    if request.param == "sqlite":
        return SqliteStore(tmp_path / "sessions.db")
    if request.param == "redis":
        return RedisStore(request.getfixturevalue("shared_redis").url)
    return RedisStore(request.getfixturevalue("redis_cluster_url"))


@pytest.fixture
async def session_memory(session_store: SessionStore, clock: FakeClock) -> AsyncIterator[SessionMemory]:
    memory = await session_store.open(clock)
    yield memory
    await memory.close()


@pytest.fixture
async def other_client(session_store: SessionStore, clock: FakeClock) -> AsyncIterator[SessionMemory]:
    """The same session memory, as another process sees it."""
    memory = await session_store.open(clock)
    yield memory
    await memory.close()


@pytest.fixture
def scope() -> Scope:
    """A session of a user whom no other test knows."""
    return new_scope()


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
