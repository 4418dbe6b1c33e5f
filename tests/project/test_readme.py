"""Every command and every snippet in the README does what the README says."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from mcp_memory_server.addresses import DynamoDbTable, parse_table

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()

RUN_BY_A_TEST_OF_THEIR_OWN = {
    "make run",
    "make test",
    "claude mcp add --scope user memory -- mcp-memory-server",
    "mcp-memory-server serve --http",
    "mcp-memory-server serve --http --tools conversation --metrics",
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    return [line for block in blocks("sh") for line in block.splitlines() if line.strip()]


def on_the_path(tmp_path: Path, **more: str) -> dict[str, str]:
    """Return an environment in which the installed command is found and a memory of its own is used."""
    binaries = str(Path(sys.executable).parent)
    own = {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "MCP_MEMORY_TABLE": f"sqlite://{tmp_path}/memory.db"}
    return {**os.environ, **own, **more}


def run(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        shlex.split(command), cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    # As a person runs it, not as a part of the make that may run these tests.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True
    )


def test_the_commands_about_memories_run_in_their_order(tmp_path: Path) -> None:
    local = [line for line in commands() if line not in RUN_BY_A_TEST_OF_THEIR_OWN and " tables " not in line]

    printed = {line: run(line, tmp_path, on_the_path(tmp_path)).stdout for line in local}

    assert "Lisbon" in printed['mcp-memory-server recall "Where does Ana live?" --explain']
    assert "All is well." in printed["mcp-memory-server doctor"]
    assert len(local) >= 9


def test_the_commands_about_the_table_on_aws_run_in_their_order(tmp_path: Path, moto_endpoint: str) -> None:
    environment = on_the_path(
        tmp_path, MCP_MEMORY_TABLE=f"dynamodb://agent-memory?region=eu-west-1&endpoint={moto_endpoint}"
    )
    on_aws = blocks("sh")[-2].splitlines()

    printed = [run(line, tmp_path, environment).stdout for line in on_aws]

    assert [line.split()[1] for line in on_aws] == ["tables", "tables", "doctor"]
    assert "All is well." in printed[-1]


SNIPPETS = list(zip(blocks("python"), re.findall(r"^prints `(.*?)`", README, re.MULTILINE), strict=True))


@pytest.mark.parametrize(("snippet", "promised"), SNIPPETS, ids=[promised for _, promised in SNIPPETS])
def test_a_python_snippet_prints_what_the_readme_says(tmp_path: Path, snippet: str, promised: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", snippet],
        env=on_the_path(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.strip() == promised


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["Claude Desktop", "mcp.json", "Claude Code"])
async def test_a_client_that_starts_what_is_written_there_gets_five_tools(where: str, tmp_path: Path) -> None:
    written = {
        "Claude Desktop": json.loads(blocks("json")[0])["mcpServers"]["memory"],
        "mcp.json": json.loads((ROOT / "mcp.json").read_text())["mcpServers"]["memory"],
        "Claude Code": {
            "command": next(line for line in commands() if line.startswith("claude ")).partition(" -- ")[2]
        },
    }[where]
    environment = on_the_path(tmp_path)
    del environment["MCP_MEMORY_TABLE"]  # as a person starts it: the home of the tests is a temporary folder
    server = StdioServerParameters(
        command=written["command"], args=written.get("args", []), env={**environment, **written.get("env", {})}
    )

    async with Client(server) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        saved = await client.call_tool("remember_fact", {"fact": f"Written in {where}."})

    assert tools == ["recall", "remember_fact", "set_preference", "load_context", "forget"]
    assert not saved.is_error


def test_the_two_lines_for_aws_are_settings_of_mcp_json() -> None:
    lines = json.loads(blocks("json")[1])
    shipped = json.loads((ROOT / "mcp.json").read_text())["mcpServers"]["memory"]["env"]

    assert lines.keys() == shipped.keys()
    assert parse_table(lines["MCP_MEMORY_TABLE"]) == DynamoDbTable("agent-memory", "eu-west-1")


@pytest.mark.parametrize(
    "command", sorted(line for line in RUN_BY_A_TEST_OF_THEIR_OWN if "--http" in line or "run" in line)
)
def test_the_server_starts_and_says_how_to_attach(command: str, tmp_path: Path) -> None:
    if command == "make run":
        # What make would do, without making the environment anew in the middle of a test run.
        recipe = make("-n", "run")
        command = recipe.stdout.strip().splitlines()[-1].removeprefix(".venv/bin/")
    environment = {**on_the_path(tmp_path), "HOME": str(tmp_path)}
    server = subprocess.Popen(
        [*shlex.split(command), "--port", "0"], env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stderr is not None
        told = "".join(server.stderr.readline() for _ in range(3))
        attach, address = re.findall(
            r"Claude Code +(\S+ attach claude-code --http (http://127\.0\.0\.1:\d+)/mcp)", told
        )[0]
        attached = subprocess.run(shlex.split(attach), env=environment, check=False, timeout=60)
        assert attached.returncode == 0
        assert "Bearer" in (tmp_path / ".claude.json").read_text()
        with urllib.request.urlopen(f"{address}/health", timeout=10) as answer:
            assert answer.read() == b"ok\n"
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)


def test_make_knows_the_targets_that_are_named() -> None:
    pages = [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "releasing.md", *(ROOT / ".github" / "workflows").glob("*.yml")]
    text = README + "".join(page.read_text() for page in pages)
    named = set(re.findall(r"(?:`|run: |^ *)make ([a-z-]+)", text, re.MULTILINE))

    for target in sorted(named):
        make("-n", target)
    assert {"run", "lint", "test", "test-slow", "test-lowest", "docs", "wheel", "bench"} <= named


def test_the_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?://)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
