"""The package is called mcp-agent-memory; mcp-memory-server on the package index belongs to someone else."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTALLS = re.compile(
    r"(?:pip install|uv add|uv tool install|pipx (?:install|run)|uvx(?: --from)?)\s+['\"]?mcp-memory-server"
    r"|mcp-memory-server\["  # an extra
    r"|\"uvx\",\s*\"args\":\s*\[\"mcp-memory-server"
)


def tracked_texts() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kinds = {".py", ".md", ".toml", ".json", ".yml", ".yaml", ".txt", ".in", ""}
    return [ROOT / name for name in listed.splitlines() if Path(name).suffix in kinds and (ROOT / name).is_file()]


@pytest.mark.parametrize(
    "wrong",
    [
        "pip install 'mcp-memory-server[dynamodb]'",
        "uvx mcp-memory-server",
        "pipx run mcp-memory-server",
        '"command": "uvx", "args": ["mcp-memory-server"]',
    ],
)
def test_a_command_that_installs_the_package_of_someone_else_is_found(wrong: str) -> None:
    assert INSTALLS.search(wrong)


def test_no_document_and_no_message_installs_the_package_of_someone_else() -> None:
    files = [file for file in tracked_texts() if file != Path(__file__)]

    wrong = [
        f"{file.relative_to(ROOT)}: {found[0]}"
        for file in files
        if (found := INSTALLS.search(file.read_text(errors="replace")))
    ]

    assert len(files) > 500
    assert wrong == []
