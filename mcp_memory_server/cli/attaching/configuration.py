"""The configuration file of a client: read the entry of a server, write it, remove it."""

import os
import tomllib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from mcp_memory_server.cli.attaching.clients import Client
from mcp_memory_server.cli.attaching.json_edits import NotJsonError, decoded, with_member, without_member
from mcp_memory_server.errors import ConfigurationError

OWNER_ONLY = 0o600


class Configuration:
    """The text of a client's file, and what it says about its servers."""

    def __init__(self, client: Client) -> None:
        """Read the file; a missing one is empty.

        Raises:
            ConfigurationError: It cannot be read, or it is not what the client writes.
        """
        self._client = client
        self.file = client.file.resolve()  # dotfiles are often links: their target is changed
        try:
            self.text = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
            self.servers = self._servers()
        except OSError as error:
            raise ConfigurationError(f"cannot read {str(self.file)!r}: {error.strerror}") from error
        except (NotJsonError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"{str(self.file)!r} is not valid, so it was not changed: {error}. Repair it, or add what "
                "`attach --print` shows"
            ) from None

    def _servers(self) -> Mapping[str, Mapping[str, Any]]:
        if not self.text.strip():
            return {}
        document: object = tomllib.loads(self.text) if self._client.is_toml else decoded(self.text)
        if not isinstance(document, dict):
            raise NotJsonError("the document is not an object")
        servers: object = cast("dict[str, object]", document).get(self._client.servers, {})
        if not isinstance(servers, dict):
            raise NotJsonError(f"{self._client.servers} is not an object")
        return cast("dict[str, dict[str, Any]]", servers)

    def with_server(self, name: str, entry: Mapping[str, Any]) -> str:
        """Return the text of the file with the server in it."""
        if self._client.is_toml:
            return _toml_with(self.text, self._client.servers, name, entry)
        return with_member(self.text, [self._client.servers, name], entry)

    def without_server(self, name: str) -> str:
        """Return the text of the file without the server."""
        if self._client.is_toml:
            return _toml_with(self.text, self._client.servers, name, None)
        return without_member(self.text, [self._client.servers, name])

    def write(self, text: str, now: datetime) -> Path | None:
        """Replace the file at once, and return where its earlier text was kept, if it had any.

        Raises:
            ConfigurationError: The file or its folder cannot be written.
        """
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            backup, mode = None, OWNER_ONLY
            if self.file.exists():
                mode = self.file.stat().st_mode & 0o777
                backup = self.file.with_name(f"{self.file.name}.{now:%Y%m%d-%H%M%S-%f}.backup")
                _write(backup, self.text, mode)
            draft = self.file.with_name(f".{self.file.name}.{os.getpid()}")
            _write(draft, text, mode)
            draft.replace(self.file)
        except OSError as error:
            raise ConfigurationError(f"cannot write {str(self.file)!r}: {error.strerror}") from error
        return backup


def snippet(client: Client, name: str, entry: Mapping[str, Any]) -> str:
    """Return what a person would add to an empty file by hand."""
    if client.is_toml:
        return _toml_with("", client.servers, name, entry)
    return with_member("", [client.servers, name], entry)


def _toml_with(text: str, servers: str, name: str, entry: Mapping[str, Any] | None) -> str:
    import tomlkit  # only here: no other command needs it

    document = tomlkit.parse(text)
    if servers not in document:
        document[servers] = tomlkit.table(is_super_table=True)
    tables = cast("dict[str, Any]", document[servers])
    if entry is None:
        tables.pop(name, None)
    else:
        tables[name] = _toml_table(entry)
    return tomlkit.dumps(document)


def _toml_table(entry: Mapping[str, Any]) -> Any:
    import tomlkit

    table = innermost = tomlkit.table()
    for key, value in entry.items():
        if isinstance(value, dict):
            innermost = tomlkit.table()
            innermost.update(cast("dict[str, Any]", value))
            table[key] = innermost
        else:
            table[key] = value
    innermost.add(tomlkit.nl())  # an empty line before the next table of the file
    return table


def _write(file: Path, text: str, mode: int) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as written:
        written.write(text)
    file.chmod(mode)
