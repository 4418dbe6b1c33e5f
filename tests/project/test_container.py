"""The container file, as far as it can be checked where no container engine runs: by a linter, and by its commands."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTAINER = (ROOT / "Dockerfile").read_text().replace("\\\n", "")


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.*)$", CONTAINER, re.MULTILINE)


def test_the_linter_finds_nothing() -> None:
    linter = Path(sys.executable).parent / "hadolint"

    found = subprocess.run([linter, "Dockerfile"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert (found.returncode, found.stdout) == (0, "")


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    copied = {part for line in instructions("COPY") if "--from" not in line for part in shlex.split(line)[:-1]}
    allowed = set(re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))

    assert copied == allowed
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_it_runs_as_nobody_in_particular_on_a_volume() -> None:
    assert instructions("USER") == ["10001"]
    assert instructions("VOLUME") == ["/data"]
    assert "MCP_MEMORY_TABLE=sqlite:///data/memory.db" in CONTAINER


def test_its_command_starts_and_its_health_check_passes(tmp_path: Path) -> None:
    ((start,),) = (json.loads(line) for line in instructions("ENTRYPOINT"))
    (arguments,) = instructions("CMD")
    (health,) = [line.partition("CMD ")[2] for line in instructions("HEALTHCHECK")]
    environment = {
        **os.environ,
        "MCP_MEMORY_TABLE": f"sqlite://{tmp_path}/memory.db",
        "MCP_MEMORY_AUTH": "tokens:",
        "MCP_MEMORY_HOSTS": "memory.example",
    }
    command = [sys.executable, "-m", "mcp_memory_server", *json.loads(arguments), "--port", "0"]
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert start == "mcp-memory-server"
        assert server.stderr is not None
        (port,) = re.findall(r":(\d+)/mcp", server.stderr.readline())
        check = [part.replace("8765", port) for part in json.loads(health)]
        subprocess.run([sys.executable, *check[1:]], timeout=30, check=True)
    finally:
        server.terminate()
        server.communicate(timeout=30)
