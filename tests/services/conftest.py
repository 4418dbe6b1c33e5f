"""A memory on a real file, and ways to open the same file as another process would."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.memory import Memory
from mcp_memory_server.wiring import running
from tests.clock import FakeClock

OpenMemory = Callable[[Path], Awaitable[Memory]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "memory.db"


@pytest.fixture
async def open_file(clock: FakeClock) -> AsyncIterator[OpenMemory]:
    """Open a file with connections and copies of its own, as a second process would have them."""
    async with AsyncExitStack() as opened:

        async def open_one(path: Path) -> Memory:
            table = await SqliteItemTable.open(path, now=clock)
            opened.push_async_callback(table.close)
            return await opened.enter_async_context(running(table, now=clock))

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
