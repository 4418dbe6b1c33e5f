"""The repository is laid out as promised, and names nothing of the machine it was written on."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = {"agent_plugins", "docs", "examples", "integrations", "mcp_memory_server", "tests"}
FILES = {"mcp.json", "pyproject.toml"}

HEAVY = {"anthropic", "boto3", "botocore", "mcp", "redis", "strands", "uvicorn"}

# A package registry's address, or the path of someone's working copy or home.
NOT_FOR_OTHERS = re.compile(r"https?://(?:registry|pypi|npm)\.|https?://\S+/simple\b|(?<![\w.~/])/(?:work|root)/\w")


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    """Every file that is, or would be, committed."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this is no working copy of git")
    command = [git, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for name in listing.stdout.split("\0") if (path := ROOT / name).is_file()]


def test_no_file_names_a_registry_or_a_path_of_one_machine(tracked: list[Path]) -> None:
    texts = {path.relative_to(ROOT): path.read_bytes().decode(errors="ignore") for path in tracked}

    found = {str(path): match[0] for path, text in texts.items() if (match := NOT_FOR_OTHERS.search(text))}

    assert found == {}


def test_the_top_level_holds_the_promised_folders_and_no_others(tracked: list[Path]) -> None:
    parts = [path.relative_to(ROOT).parts for path in tracked]

    folders = {first for first, *rest in parts if rest and not first.startswith(".")}
    files = {first for first, *rest in parts if not rest}

    assert folders == FOLDERS
    assert files >= FILES


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = "import sys, mcp_memory_server; print(*sorted({name.partition('.')[0] for name in sys.modules}))"

    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert HEAVY.isdisjoint(loaded.stdout.split())


def test_the_tools_are_loaded_when_they_are_first_used() -> None:
    program = (
        "import sys, mcp_memory_server as m; before = 'mcp_memory_server.tools' in sys.modules; "
        "print(before, len(m.MEMORY_TOOLS), m.MemoryTool.__name__, m.error_reply.__name__)"
    )

    printed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert printed.stdout.split() == ["False", "5", "MemoryTool", "error_reply"]
