"""One memory in a fresh file."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_memory_server import Memory, Settings, open_memory
from tests.clock import FakeClock


@pytest.fixture
async def memory(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Memory]:
    async with open_memory(Settings(table=f"sqlite://{tmp_path}/memory.db"), now=clock) as memory:
        yield memory
