"""One command writes a client's own configuration, keeps what is there, and can be undone."""

import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePath

import pytest

from mcp_memory_server.cli.attaching.clients import Machine, known_clients
from mcp_memory_server.cli.attaching.json_edits import decoded
from tests.cli.commands import Run
from tests.server.processes import Served, over_http
from tests.server.raw_http import send

LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()
JSON_CLIENTS = {
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "claude-code": (".claude.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
    "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers"),
    "zed": (".config/zed/settings.json", "context_servers"),
}
CODEX = """\
# my settings
model = "gpt-5"

[mcp_servers.docs]
command = "docs"  # keep this

[tui]
theme = "dark"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of its own, as on Linux, without any client's variables."""
    home = tmp_path / "home"
    home.mkdir()
    for name in [name for name in os.environ if name.startswith(("MCP_MEMORY_", "AWS_", "XDG_CONFIG"))]:
        monkeypatch.delenv(name)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.mark.parametrize(("client", "file", "servers"), [(name, *where) for name, where in JSON_CLIENTS.items()])
def test_a_client_gets_the_absolute_path_of_this_installation(
    run: Run, home: Path, client: str, file: str, servers: str
) -> None:
    done = run("attach", client)

    entry = decoded((home / file).read_text())[servers]["memory"]
    assert (done.code, done.out) == (0, "")
    assert str(home / file) in done.err
    assert Path(entry["command"]).is_absolute()
    assert os.access(entry["command"], os.X_OK)
    assert (home / file).stat().st_mode & 0o777 == 0o600


def test_what_a_file_holds_is_kept_and_backed_up(run: Run, home: Path) -> None:
    file = home / ".config/zed/settings.json"
    file.parent.mkdir(parents=True)
    file.write_text('// mine\n{\n  "theme": "One", // dark\n  "context_servers": {"other": {"command": "x"}},\n}\n')
    before = file.read_text()

    done = run("attach", "zed")

    (backup,) = file.parent.glob("settings.json.*.backup")
    assert done.code == 0
    assert str(backup) in done.err
    assert backup.read_text() == before
    assert "// dark" in file.read_text()
    assert list(decoded(file.read_text())["context_servers"]) == ["other", "memory"]


def test_codex_keeps_its_comments_and_gets_a_table(run: Run, home: Path) -> None:
    file = home / ".codex/config.toml"
    file.parent.mkdir()
    file.write_text(CODEX)

    run("attach", "codex", "--user", "ana")

    document = tomllib.loads(file.read_text())
    assert "# keep this" in file.read_text()
    assert document["mcp_servers"]["memory"]["env"] == {"MCP_MEMORY_USER": "ana"}
    assert (document["mcp_servers"]["docs"], document["tui"]) == ({"command": "docs"}, {"theme": "dark"})

    run("detach", "codex")

    assert file.read_text() == CODEX


def test_settings_of_the_shell_are_written_because_a_client_does_not_see_them(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_MEMORY_TABLE", "dynamodb://memories?region=eu-west-1")
    monkeypatch.setenv("AWS_PROFILE", "memory")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "never written")

    run("attach", "cursor")

    entry = json.loads((home / ".cursor/mcp.json").read_text())["mcpServers"]["memory"]
    assert entry["env"] == {"AWS_PROFILE": "memory", "MCP_MEMORY_TABLE": "dynamodb://memories?region=eu-west-1"}


def test_attaching_again_changes_nothing(run: Run, home: Path) -> None:
    run("attach", "cursor")
    written = (home / ".cursor/mcp.json").stat().st_mtime_ns

    again = run("attach", "cursor")

    assert again.code == 0
    assert "nothing was changed" in again.err
    assert (home / ".cursor/mcp.json").stat().st_mtime_ns == written


def test_another_server_of_the_same_name_is_not_replaced(run: Run, home: Path) -> None:
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"memory": {"command": "npx", "args": ["server-memory"]}}}')
    before = file.read_text()

    refused, removal = run("attach", "cursor"), run("detach", "cursor")
    beside = run("attach", "cursor", "--name", "mine")

    assert (refused.code, removal.code, beside.code) == (1, 1, 0)
    assert "--name" in refused.err
    assert list(json.loads(file.read_text())["mcpServers"]) == ["memory", "mine"]
    assert json.loads(before)["mcpServers"]["memory"] == json.loads(file.read_text())["mcpServers"]["memory"]


def test_a_dry_run_shows_the_difference_and_writes_nothing(run: Run, home: Path) -> None:
    shown = run("attach", "cursor", "--dry-run")

    assert '+    "memory": {' in shown.out
    assert not (home / ".cursor").exists()


@pytest.mark.parametrize("client", [*JSON_CLIENTS, "codex"])
def test_print_shows_what_to_add_by_hand(run: Run, home: Path, client: str) -> None:
    printed = run("attach", client, "--print")

    document = tomllib.loads(printed.out) if client == "codex" else json.loads(printed.out)
    (servers,) = document.values()
    assert Path(servers["memory"]["command"]).is_absolute()
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": 3}', "\x00"])
def test_a_broken_file_is_left_alone(run: Run, home: Path, text: str) -> None:
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(text)

    refused = run("attach", "cursor")

    assert refused.code == 2
    assert "was not changed" in refused.err
    assert file.read_text() == text


def test_a_linked_file_stays_a_link(run: Run, home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles/mcp.json").write_text("{}")
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to(home / "dotfiles/mcp.json")

    run("attach", "cursor")

    assert (home / ".cursor/mcp.json").is_symlink()
    assert "memory" in json.loads((home / "dotfiles/mcp.json").read_text())["mcpServers"]


def test_detaching_what_is_not_attached_says_so(run: Run, home: Path) -> None:
    refused = run("detach", "cursor")

    assert refused.code == 1
    assert "no server 'memory'" in refused.err


def test_an_unknown_client_is_answered_with_the_known_ones(run: Run, home: Path) -> None:
    refused = run("attach", "emacs")

    assert refused.code == 2
    assert [name for name in (*JSON_CLIENTS, "codex") if name not in refused.err] == []


def test_without_a_client_all_are_listed_with_their_state(run: Run, home: Path) -> None:
    run("attach", "cursor")
    (home / ".claude.json").write_text('{"mcpServers": {}}')

    listed = {row["client"]: row["state"] for row in run("attach", "--json").json}

    assert (listed["cursor"], listed["claude-code"]) == ("attached", "not attached")
    assert listed["windsurf"] == "not found"


@pytest.mark.parametrize(
    ("platform", "variables", "client", "file"),
    [
        ("darwin", {}, "claude-desktop", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("darwin", {}, "vscode", "Library/Application Support/Code/User/mcp.json"),
        ("darwin", {}, "zed", ".config/zed/settings.json"),
        ("win32", {"APPDATA": "/roaming"}, "claude-desktop", "/roaming/Claude/claude_desktop_config.json"),
        ("win32", {}, "zed", "AppData/Roaming/Zed/settings.json"),
        ("linux", {"XDG_CONFIG_HOME": "/xdg"}, "vscode", "/xdg/Code/User/mcp.json"),
        ("linux", {"CLAUDE_CONFIG_DIR": "/cc"}, "claude-code", "/cc/.claude.json"),
        ("linux", {"CODEX_HOME": "/codex"}, "codex", "/codex/config.toml"),
    ],
)
def test_each_system_has_its_own_folders(platform: str, variables: dict[str, str], client: str, file: str) -> None:
    clients = known_clients(Machine(platform, Path("/home/ana"), variables))

    assert clients[client].file == Path("/home/ana") / PurePath(file)


@pytest.fixture
def http_server(home: Path) -> Iterator[Served]:
    table = home / ".local/share/mcp-memory-server/memory.db"
    with over_http(table, arguments=()) as served:
        yield served


def test_a_server_that_runs_is_attached_with_the_token_of_this_machine(
    run: Run, home: Path, http_server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = home / ".local/share/mcp-memory-server/memory.db"
    monkeypatch.setenv("MCP_MEMORY_TABLE", f"sqlite://{table}")

    done = run("attach", "claude-code", "--http", http_server.url)
    again = run("attach", "claude-code", "--http", http_server.url)
    codex = run("attach", "codex", "--http", http_server.url, "--print")

    entry = decoded((home / ".claude.json").read_text())["mcpServers"]["memory"]
    listed = send(http_server.port, LIST, Authorization=entry["headers"]["Authorization"])
    assert done.code == 0
    assert "nothing was changed" in again.err
    assert (entry["type"], entry["url"], listed.status) == ("http", http_server.url, 200)
    assert send(http_server.port, LIST).status == 401
    assert "Authorization" in tomllib.loads(codex.out)["mcp_servers"]["memory"]["http_headers"]
    assert run("detach", "claude-code").code == 0
    assert decoded((home / ".claude.json").read_text())["mcpServers"] == {}


def test_a_server_that_does_not_let_the_client_in_is_not_attached(run: Run, home: Path, http_server: Served) -> None:
    wrong = run("attach", "cursor", "--http", http_server.url, "--token", "invented")
    none = run("attach", "cursor", "--http", "http://127.0.0.1:1/mcp")
    desktop = run("attach", "claude-desktop", "--http", http_server.url)

    assert (wrong.code, none.code, desktop.code) == (2, 2, 2)
    assert "does not accept the token" in wrong.err
    assert "no server answers" in none.err
    assert "without --http" in desktop.err
    assert not (home / ".cursor/mcp.json").exists()
