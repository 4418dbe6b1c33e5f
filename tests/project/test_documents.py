"""Every command and every snippet in the documents does what the documents say."""

import base64
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from mcp_memory_server import Settings
from mcp_memory_server.addresses import DynamoDbTable, parse_table
from mcp_memory_server.cli import main
from tests.project.documents import BESIDE_THE_CODE, GUIDES, README, ROOT, Document, guide

IMPORTED = ROOT / "tests" / "cli" / "importing" / "files"
THIS = "tests/project/test_documents.py"
BUNDLES = "tests/project/test_bundles.py"
STARTS = f"{THIS}::test_the_server_starts_and_says_how_to_attach"
AWS = f"{THIS}::test_the_commands_about_the_table_on_aws_run_in_their_order"
STATUS = "tests/plugins/breakers/test_status_command.py::"
CODEX = "tests/server/test_codex_hooks.py::test_two_sessions_of_codex"
EXAMPLES = "tests/project/test_examples.py::test_the_example_runs_and_prints_what_it_is_there_to_show"
RUN_BY_A_TEST_OF_THEIR_OWN = {
    "make run": STARTS,
    **dict.fromkeys(("make test", "make clean", "make bundle"), f"{THIS}::test_make_knows_the_targets_that_are_named"),
    "mcp-memory-server serve --http": STARTS,
    "mcp-memory-server serve --http --metrics": "tests/server/test_metrics.py::",
    "mcp-memory-server serve --http --tools conversation --metrics": STARTS,
    "mcp-memory-server serve --http --host 0.0.0.0": "tests/server/test_identity.py::",
    "mcp-memory-server tables create": AWS,
    "mcp-memory-server tables describe": AWS,
    "claude mcp add --scope user memory -- mcp-memory-server": (
        f"{THIS}::test_a_client_that_starts_what_is_written_there_gets_five_tools"
    ),
    "claude plugin marketplace add mcp-agent-memory/mcp-agent-memory": (
        f"{BUNDLES}::test_claude_code_accepts_the_plugin_and_its_marketplace"
    ),
    "cp integrations/codex/hooks.json ~/.codex/hooks.json": CODEX,
    "make sbom": "tests/project/test_sbom.py::test_every_locked_package_is_listed_with_its_hashes",
    "make image": "tests/project/test_container.py::test_the_linter_finds_nothing",
    "docker run --publish 8765:8765 --volume memory:/data --env MCP_MEMORY_AUTH=tokens: "
    "--env MCP_MEMORY_HOSTS=memory.example mcp-agent-memory": (
        "tests/project/test_container.py::test_its_command_starts_and_its_health_check_passes"
    ),
    "claude plugin install agent-memory@mcp-agent-memory": (
        f"{BUNDLES}::test_claude_code_accepts_the_plugin_and_its_marketplace"
    ),
    "python -m agent_plugins status --file /run/agents/1.json": STATUS,
    "python -m agent_plugins status --redis redis://localhost:6379/0": STATUS,
    "pip install 'mcp-agent-memory[metrics]'": "tests/project/test_wheel.py::",
    # Somebody else's commands and addresses: a collector, an issuer.
    "pip install opentelemetry-distro opentelemetry-exporter-otlp-proto-http": "",
    "export OTEL_SERVICE_NAME=mcp-memory-server": "",
    "export OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318": "",
    "export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf": "",
    "opentelemetry-instrument mcp-memory-server serve --http": "",
    "export MCP_MEMORY_AUTH='https://login.example/?audience=https://memory.example/mcp'": "",
    "export MCP_MEMORY_HOSTS=memory.example": "",
    **{f"python examples/{path.name}": EXAMPLES for path in (ROOT / "examples").glob("*.py")},
}
"""Commands that the test below does not run, and the test that does."""


def on_the_path(tmp_path: Path, **more: str) -> dict[str, str]:
    """Return an environment in which the installed command is found and a memory of its own is used."""
    binaries = str(Path(sys.executable).parent)
    own = {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "MCP_MEMORY_TABLE": f"sqlite://{tmp_path}/memory.db"}
    return {**os.environ, **own, **more}


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    # As a person runs it, not as a part of the make that may run these tests.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True
    )


@pytest.fixture
def _a_fresh_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nothing was done yet, except that a client saved something."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MCP_MEMORY_TABLE", f"sqlite://{tmp_path}/memory.db")
    for variable in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    with zipfile.ZipFile(tmp_path / "chatgpt-export.zip", "w") as archive:
        archive.write(IMPORTED / "chatgpt.json", "conversations.json")
    shutil.copytree(IMPORTED / "obsidian", tmp_path / "vault")
    shutil.copy(IMPORTED / "CLAUDE.md", tmp_path / "MEMORY.md")
    said = '{"session": "2023-05-08", "speaker": "Gina", "date": "2023-05-08T13:56", "text": "I lost my job."}'
    (tmp_path / "conversations.jsonl").write_text(said)
    assert main(["remember", "The kettle is blue."]) == 0


@pytest.mark.usefixtures("_a_fresh_home")
@pytest.mark.parametrize("page", [*GUIDES, *BESIDE_THE_CODE], ids=lambda page: page.name)
def test_the_commands_of_a_page_run_in_their_order(page: Document, capsys: pytest.CaptureFixture[str]) -> None:
    for command in page.commands():
        if command in RUN_BY_A_TEST_OF_THEIR_OWN:
            continue
        program, *arguments = shlex.split(command)

        assert program == "mcp-memory-server", f"no test runs {command!r}"
        assert main(arguments) == 0, f"{command}: {capsys.readouterr().err}"


def test_the_tests_that_are_named_exist() -> None:
    for named in filter(None, RUN_BY_A_TEST_OF_THEIR_OWN.values()):
        file, _, test = named.partition("::")
        assert f"def {test}" in (ROOT / file).read_text(), named


def test_the_readme_shows_what_it_promises(tmp_path: Path) -> None:
    ours = [line for line in README.commands() if line not in RUN_BY_A_TEST_OF_THEIR_OWN and "attach" not in line]

    printed = {
        line: subprocess.run(
            shlex.split(line),
            cwd=tmp_path,
            env=on_the_path(tmp_path),
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        for line in ours
    }

    assert "Lisbon" in printed['mcp-memory-server recall "Where does Ana live?" --explain']
    assert "All is well." in printed["mcp-memory-server doctor"]
    assert len(ours) >= 6


def test_the_readme_is_short() -> None:
    assert len(README.text.split()) < 900


def test_the_commands_about_the_table_on_aws_run_in_their_order(tmp_path: Path, moto_endpoint: str) -> None:
    environment = on_the_path(
        tmp_path, MCP_MEMORY_TABLE=f"dynamodb://agent-memory?region=eu-west-1&endpoint={moto_endpoint}"
    )
    on_aws = guide("aws.md").blocks("sh")[0].splitlines()

    printed = [
        subprocess.run(
            shlex.split(line), env=environment, capture_output=True, text=True, timeout=120, check=True
        ).stdout
        for line in on_aws
    ]

    assert [line.split()[1] for line in on_aws] == ["tables", "tables", "doctor"]
    assert "All is well." in printed[-1]


SNIPPETS = [(f"{page.name}-{n}", *one) for page in GUIDES for n, one in enumerate(page.snippets())]


@pytest.mark.usefixtures("_a_fresh_home")
@pytest.mark.parametrize(("name", "snippet", "promised"), SNIPPETS, ids=[name for name, *_ in SNIPPETS])
def test_a_python_snippet_prints_what_the_page_says(name: str, snippet: str, promised: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(snippet, name, "exec"), {"__name__": "__main__"})

    assert printed.getvalue().strip() == promised


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["Claude Desktop", "mcp.json", "Claude Code"])
async def test_a_client_that_starts_what_is_written_there_gets_five_tools(where: str, tmp_path: Path) -> None:
    clients = guide("clients.md")
    written = {
        "Claude Desktop": json.loads(clients.blocks("json")[0])["mcpServers"]["memory"],
        "mcp.json": json.loads((ROOT / "mcp.json").read_text())["mcpServers"]["memory"],
        "Claude Code": {
            "command": next(line for line in clients.commands() if line.startswith("claude ")).partition(" -- ")[2]
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


@pytest.mark.parametrize("page", [README, guide("clients.md")], ids=lambda page: page.name)
def test_the_install_links_start_the_published_command(page: Document) -> None:
    links = {
        urllib.parse.urlsplit(link).hostname: urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)
        for link in re.findall(r"\((https://[^)]*install[^)]*)\)", page.text)
    }

    cursor, vs_code = links["cursor.com"], links["insiders.vscode.dev"]
    start = {"command": "uvx", "args": ["mcp-agent-memory"]}
    assert json.loads(base64.b64decode(cursor["config"][0])) == start
    assert json.loads(vs_code["config"][0]) == start
    assert cursor["name"] == vs_code["name"] == ["memory"]


def test_the_two_lines_for_aws_are_settings_of_mcp_json() -> None:
    lines = json.loads(guide("aws.md").blocks("json")[0])
    shipped = json.loads((ROOT / "mcp.json").read_text())["mcpServers"]["memory"]["env"]

    assert lines.keys() == shipped.keys()
    assert parse_table(lines["MCP_MEMORY_TABLE"]) == DynamoDbTable("agent-memory", "eu-west-1")


def test_the_page_of_settings_has_each_of_them() -> None:
    listed = set(re.findall(r"^\| `(MCP_MEMORY_\w+)`", guide("settings.md").text, re.MULTILINE))

    assert listed == {f"MCP_MEMORY_{name.upper()}" for name in Settings.model_fields}


@pytest.mark.parametrize("command", sorted(line for line, test in RUN_BY_A_TEST_OF_THEIR_OWN.items() if test == STARTS))
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
    text = "".join(page.text for page in GUIDES) + "".join(page.read_text() for page in pages)
    named = set(re.findall(r"(?:`|run: |^ *)make ([a-z-]+)", text, re.MULTILINE))

    for target in sorted(named):
        make("-n", target)
    assert {"run", "lint", "test", "test-slow", "test-lowest", "docs", "wheel", "bench", "bundle"} <= named


def test_the_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?://)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
