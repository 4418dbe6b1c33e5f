"""A memory on a real table, and ways to open the same table as another process would.

The table is a file. The tests of what is kept in it also run through a DAX cluster, where each file stands for a table:
among the slow ones, but for a few.
"""

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import pytest

from mcp_memory_server.adapters.dax.item_table import DaxItemTable
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.memory import Memory
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.wiring import running
from tests.clock import FakeClock
from tests.stores.tables import Address, DaxAddress, SqliteAddress

OpenMemory = Callable[[Path], Awaitable[Memory]]
OpenTable = Callable[[Path], Awaitable[ItemTable]]

THROUGH_DAX = {
    "test_chat_races",
    "test_chats",
    "test_conversations",
    "test_facts",
    "test_forgetting",
    "test_hot_conversations",
    "test_notes",
    "test_preferences",
    "test_recall",
    "test_repeated_operations",
    "test_replacing_facts",
    "test_stored_turns",
    "test_tool_log",
    "test_user_memory_cache",
}
QUICK_THROUGH_DAX = {"test_preferences", "test_user_memory_cache"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = metafunc.definition.path.stem
    if module in THROUGH_DAX and "table_at" in metafunc.fixturenames:
        marks = () if module in QUICK_THROUGH_DAX else pytest.mark.slow
        metafunc.parametrize("table_at", ["sqlite", pytest.param("dax", marks=marks)], indirect=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "memory.db"


@pytest.fixture
def table_at(request: pytest.FixtureRequest) -> Iterator[Callable[[Path], Address]]:
    """Tell where the table of a path lies: the same for the same path."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield SqliteAddress
        return
    cluster, tables = request.getfixturevalue("shared_dax"), request.getfixturevalue("dynamodb_local_tables")
    with ExitStack() as made:

        @functools.cache
        def behind_dax(_: Path) -> Address:
            behind = made.enter_context(tables.fresh())
            return DaxAddress(cluster.url, behind.endpoint, behind.table)

        yield behind_dax


@pytest.fixture
async def open_table(table_at: Callable[[Path], Address], clock: FakeClock) -> AsyncIterator[OpenTable]:
    """Open a table with connections of its own, as a second process would have them."""
    async with AsyncExitStack() as opened:

        async def open_one(path: Path) -> ItemTable:
            table = await table_at(path).open(clock)
            opened.push_async_callback(table.close)
            return table

        yield open_one


@pytest.fixture
async def open_file(open_table: OpenTable, clock: FakeClock) -> AsyncIterator[OpenMemory]:
    """Open a memory with connections and copies of its own, as a second process would have them."""
    async with AsyncExitStack() as opened:

        async def open_one(path: Path) -> Memory:
            table = await open_table(path)
            near = table.cached_reads() if isinstance(table, DaxItemTable) else None
            return await opened.enter_async_context(running(table, now=clock, near=near))

        yield open_one


@pytest.fixture
async def memory(open_file: OpenMemory, path: Path) -> Memory:
    return await open_file(path)


@pytest.fixture
async def other_process(open_file: OpenMemory, path: Path) -> Memory:
    return await open_file(path)


@pytest.fixture
def anna() -> Scope:
    return Scope("anna")
