"""Settings: what an operator types. Read here once; nothing else looks at the environment."""

import difflib
import getpass
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.errors import ConfigurationError, MemoryServerError

PREFIX = "MCP_MEMORY_"
FILE_NAME = "memory.db"

TableForms = "sqlite:///path/to/file or dynamodb://table?region=eu-west-1"


@dataclass(frozen=True)
class SqliteTable:
    """The embedded default: one file."""

    path: Path


@dataclass(frozen=True)
class DynamoDbTable:
    """A DynamoDB table. Without a region or an endpoint, what the AWS configuration says."""

    name: str
    region: str | None = None
    endpoint: str | None = None


def _account_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without an entry for its user id
        return "default"


def _known_form(table: str) -> str:
    parse_table(table)
    return table


class Settings(BaseSettings):
    """Everything that can be set, as MCP_MEMORY_<NAME> in the environment or as an argument in Python."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    table: Annotated[str, AfterValidator(_known_form)] = Field(
        default="sqlite:", description="Where memory is kept: sqlite:///path/to/file or dynamodb://table?region=…"
    )
    user: str = Field(default_factory=_account_name, description="Whose memory a local client reads and writes")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="WARNING", description="How much is written to standard error"
    )

    def scope(self) -> Scope:
        """Return the owner that the operator named.

        Raises:
            ConfigurationError: The name cannot be one.
        """
        try:
            return Scope(self.user)
        except MemoryServerError as error:
            raise ConfigurationError(f"{PREFIX}USER: {error}") from error


def read_settings() -> Settings:
    """Read the environment.

    Raises:
        ConfigurationError: A variable is wrong, or begins with MCP_MEMORY_ and is not known.
    """
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    for name in os.environ:
        if name.startswith(PREFIX) and name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else f"; the settings are {', '.join(known)}"
            raise ConfigurationError(f"{name} is not a setting{hint}")
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = PREFIX + "_".join(str(part) for part in first["loc"]).upper()
        raise ConfigurationError(f"{name}: {first['msg'].removeprefix('Value error, ')}") from None


def parse_table(text: str) -> SqliteTable | DynamoDbTable:
    """Read where memory is kept.

    Raises:
        ValueError: It has none of the known forms. The message shows them.
    """
    url = urlsplit(text)
    if url.scheme == "sqlite":
        return SqliteTable(_sqlite_path(unquote(url.path), url.netloc))
    if url.scheme == "dynamodb":
        options = dict(parse_qsl(url.query, strict_parsing=bool(url.query)))
        if unknown := options.keys() - {"region", "endpoint"}:
            raise ValueError(f"{sorted(unknown)[0]!r} is not an option of a dynamodb:// table; region and endpoint are")
        if not url.netloc or url.path.strip("/"):
            raise ValueError("a DynamoDB table is written dynamodb://table?region=eu-west-1")
        return DynamoDbTable(url.netloc, options.get("region"), options.get("endpoint"))
    raise ValueError(f"must be {TableForms}, got a value that begins with {text.partition(':')[0][:20]!r}")


def _sqlite_path(path: str, host: str) -> Path:
    if host:
        raise ValueError("a file is written sqlite:///path/to/file, with three slashes")
    if path in ("", "/"):
        # Imported here: only the default needs to know where the user's data folder is.
        from platformdirs import user_data_path

        return user_data_path("mcp-memory-server", appauthor=False) / FILE_NAME
    # sqlite:////var/lib/x and sqlite:///var/lib/x both occur in the wild; a Windows drive has no slash before it.
    path = re.sub(r"^/+(?=~|[A-Za-z]:)", "", re.sub(r"^/+", "/", path))
    return Path(path).expanduser().absolute()
