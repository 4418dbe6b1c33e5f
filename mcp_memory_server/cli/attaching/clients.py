"""The MCP clients that can be attached: where each keeps its configuration, and how a server is written there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_memory_server.errors import InvalidRequestError

WINDOWS = "win32"
MACOS = "darwin"


@dataclass(frozen=True)
class Machine:
    """What decides where clients keep their configuration."""

    platform: str
    home: Path
    environment: Mapping[str, str]

    def application_data(self) -> Path:
        """Return the folder in which desktop programs keep their settings."""
        if self.platform == WINDOWS:
            return Path(self.environment.get("APPDATA") or self.home / "AppData" / "Roaming")
        if self.platform == MACOS:
            return self.home / "Library" / "Application Support"
        return self._config_home()

    def _config_home(self) -> Path:
        return Path(self.environment.get("XDG_CONFIG_HOME") or self.home / ".config")

    def zed_folder(self) -> Path:
        """Return the folder of Zed, which uses ~/.config on macOS too."""
        if self.platform == WINDOWS:
            return self.application_data() / "Zed"
        return self._config_home() / "zed" if self.platform != MACOS else self.home / ".config" / "zed"


@dataclass(frozen=True)
class Launch:
    """How a client starts the server."""

    command: str
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] | None = None

    def entry(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        """Return the entry of a client's configuration."""
        environment = {"env": dict(self.environment)} if self.environment else {}
        return {**extra, "command": self.command, "args": list(self.arguments), **environment}


@dataclass(frozen=True)
class HttpEntry:
    """How a client writes a server that runs already: the names of the address and of the headers."""

    address: str = "url"
    headers: str = "headers"
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def entry(self, address: str, token: str | None) -> dict[str, Any]:
        """Return the entry of a client's configuration."""
        headers = {self.headers: {"Authorization": f"Bearer {token}"}} if token else {}
        return {**self.extra, self.address: address, **headers}


@dataclass(frozen=True)
class Client:
    """A client: its name on the command line, its title, the file with its servers, and the member that holds them.

    ``extra`` is written into each entry that starts a server, ``http`` says how one is written that runs already.
    ``next_step`` is what a person has to do for the client to read the file.
    """

    name: str
    title: str
    file: Path
    servers: str
    next_step: str
    extra: Mapping[str, Any]
    http: HttpEntry | None = field(default_factory=HttpEntry)

    @property
    def is_toml(self) -> bool:
        """Whether the file is TOML; all others are JSON, with comments in some."""
        return self.file.suffix == ".toml"


def known_clients(machine: Machine) -> dict[str, Client]:
    """Return the clients by name, with the files of this person on this machine."""
    data, home, environment = machine.application_data(), machine.home, machine.environment
    claude_code = Path(environment.get("CLAUDE_CONFIG_DIR") or home) / ".claude.json"
    codex = Path(environment.get("CODEX_HOME") or home / ".codex") / "config.toml"
    clients = [
        Client(
            "claude-desktop",
            "Claude Desktop",
            data / "Claude" / "claude_desktop_config.json",
            "mcpServers",
            "Quit and restart Claude Desktop.",
            {},
            http=None,
        ),
        Client(
            "claude-code",
            "Claude Code",
            claude_code,
            "mcpServers",
            "It is there in every folder: `claude mcp list` shows it. Sessions that are open need a restart.",
            {"type": "stdio"},
            HttpEntry(extra={"type": "http"}),
        ),
        Client("cursor", "Cursor", home / ".cursor" / "mcp.json", "mcpServers", "Restart Cursor.", {}),
        Client(
            "vscode",
            "VS Code",
            data / "Code" / "User" / "mcp.json",
            "servers",
            "Run `MCP: List Servers` in the command palette and start it.",
            {"type": "stdio"},
            HttpEntry(extra={"type": "http"}),
        ),
        Client(
            "codex",
            "Codex",
            codex,
            "mcp_servers",
            "Start a new session of Codex.",
            {},
            HttpEntry(headers="http_headers"),
        ),
        Client(
            "windsurf",
            "Windsurf",
            home / ".codeium" / "windsurf" / "mcp_config.json",
            "mcpServers",
            "Press the refresh button in Cascade's list of MCP servers.",
            {},
            HttpEntry(address="serverUrl"),
        ),
        Client(
            "zed",
            "Zed",
            machine.zed_folder() / "settings.json",
            "context_servers",
            "Zed starts it at once.",
            {"source": "custom"},
        ),
    ]
    return {client.name: client for client in clients}


def client_named(name: str, clients: Mapping[str, Client]) -> Client:
    """Return the client.

    Raises:
        InvalidRequestError: There is none of this name.
    """
    if name not in clients:
        raise InvalidRequestError(f"unknown client {name!r}; one of {', '.join(clients)}")
    return clients[name]
