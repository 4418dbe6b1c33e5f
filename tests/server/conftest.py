"""One memory in a fresh file, and a client of each protocol era that talks to a server over it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from mcp import Client

from mcp_memory_server import Memory, Settings, open_memory
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import always
from tests.clock import FakeClock
from tests.server.asking import ANA, ERAS
from tests.server.processes import Served, over_http


@pytest.fixture
def memory_file(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def memory(memory_file: Path, clock: FakeClock) -> AsyncIterator[Memory]:
    async with open_memory(Settings(table=f"sqlite://{memory_file}"), now=clock) as memory:
        yield memory


@pytest.fixture(params=ERAS)
async def client(request: pytest.FixtureRequest, memory: Memory) -> AsyncIterator[Client]:
    async with Client(build_server(memory, always(ANA)), mode=request.param) as client:
        yield client


@pytest.fixture(scope="session")
def http_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server over HTTP for all tests that only talk to it; each talks about things of its own."""
    with over_http(tmp_path_factory.mktemp("http") / "memory.db") as served:
        yield served
