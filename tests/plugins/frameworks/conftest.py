"""A memory of its own for the adapters."""

from pathlib import Path

import pytest

from mcp_memory_server import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(table=f"sqlite://{tmp_path}/memory.db", embeddings="static")
