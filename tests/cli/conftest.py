"""The command line in this process, over a memory of its own."""

from pathlib import Path

import pytest

from mcp_memory_server.adapters.sqlite.files.file import prepare_file
from tests.cli.commands import Run, run_with


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the settings name, and Ana as its user."""
    file = tmp_path / "memory.db"
    monkeypatch.setenv("MCP_MEMORY_TABLE", f"sqlite://{file}")
    monkeypatch.setenv("MCP_MEMORY_USER", "ana")
    return file


@pytest.fixture
def run(table: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return run_with(capsys)


@pytest.fixture
def empty_table(table: Path) -> Path:
    """The file that the settings name, after it was made."""
    prepare_file(table)
    return table
