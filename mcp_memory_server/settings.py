"""Settings of the operator. Nothing else reads the environment."""

import difflib
import getpass
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from mcp_memory_server.addresses import (
    parse_audit,
    parse_auth,
    parse_dead_letters,
    parse_embeddings,
    parse_hosts,
    parse_outbox,
    parse_sessions,
    parse_summarizer,
    parse_table,
    parse_vector_index,
)
from mcp_memory_server.domain.kernel.scope import OwnerKind, Owners, Scope
from mcp_memory_server.domain.kernel.spending import DEFAULT_CEILING, parse_ceiling, parse_prices
from mcp_memory_server.domain.sessions.acknowledge import Acknowledge
from mcp_memory_server.errors import ConfigurationError, MemoryServerError
from mcp_memory_server.repositories import repository_name

PREFIX = "MCP_MEMORY_"
AUTO, NONE = "auto", "none"


def _account_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without an entry for its user id
        return "default"


def _form(parse: Callable[[str], object]) -> AfterValidator:
    """Return a validator that parses the text and keeps it unchanged."""

    def check(text: str) -> str:
        parse(text)
        return text

    return AfterValidator(check)


class Settings(BaseSettings):
    """Everything that can be set, as MCP_MEMORY_<NAME> in the environment or as an argument in Python."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    table: Annotated[str, _form(parse_table)] = Field(
        default="sqlite:",
        description="Where memory is kept: sqlite:///path/to/file, dynamodb://table?region=… or dax://cluster/table?region=…",
    )
    # repr=False: an address may hold a password.
    sessions: Annotated[str, _form(parse_sessions)] = Field(
        default="none", repr=False, description="Where running sessions are cached: redis://…, rediss://… or none"
    )
    acknowledge: Acknowledge = Field(
        default=Acknowledge.TABLE, description="When a turn is acknowledged: in the table, or in the outbox"
    )
    outbox: Annotated[str, _form(parse_outbox)] = Field(
        default="sqlite:", description="Where turns wait for the table: sqlite:, redis: (that of the sessions) or none"
    )
    dead_letters: Annotated[str, _form(parse_dead_letters)] = Field(
        default="sqlite:", description="Where turns go that the table rejects: sqlite: or sqs://queue?region=…"
    )
    embeddings: Annotated[str, _form(parse_embeddings)] = Field(
        default="built-in",
        description="Which model compares meanings: built-in, none, model2vec:///folder, onnx:///folder or bedrock://model",
    )
    vector_index: Annotated[str, _form(parse_vector_index)] = Field(
        default="none",
        description="Which vector index of the DynamoDB table finds what is not indexed here: its name or none",
    )
    summarizer: Annotated[str, _form(parse_summarizer)] = Field(
        default="built-in", description="What sums sessions up: built-in, anthropic:MODEL, bedrock://MODEL or none"
    )
    spending: Annotated[str, _form(parse_ceiling)] = Field(
        default=DEFAULT_CEILING, description="What models may cost in a day: dollars, tokens, user-dollars, user-tokens"
    )
    prices: Annotated[str, _form(parse_prices)] = Field(
        default="", description="What models cost: MODEL=INPUT/OUTPUT, in dollars for a million tokens"
    )
    user: str = Field(default_factory=_account_name, description="Whose memory a local client reads and writes")
    project: str = Field(
        default="none",
        description="Which project of the user has a memory of its own: auto (the Git repository around the folder "
        "in which the client started this), a name, or none",
    )
    agent: str = Field(default="none", description="Which agent of the user has a memory of its own: a name or none")
    team: str = Field(default="none", description="Which team's memory is used too: a name or none")
    shared: str = Field(
        default="none", description="Which shared knowledge is read too: names, separated by commas, or none"
    )
    new_facts: Literal["", "user", "agent", "project", "team"] = Field(
        default="", description="Where new facts go: user, agent, project or team"
    )
    auth: Annotated[str, _form(parse_auth)] = Field(
        default="", repr=False, description="Who verifies tokens over HTTP: tokens:, or issuers with their audience"
    )
    hosts: Annotated[str, _form(parse_hosts)] = Field(
        default="", description="The names of the HTTP server beside those of this machine, separated by commas"
    )
    calls_per_second: float = Field(
        default=25, gt=0, le=100_000, description="How many calls each user of an HTTP server with tokens may make"
    )
    records_per_day: int = Field(
        default=20_000, ge=1, le=10**9, description="How much each user of an HTTP server with tokens may save"
    )
    audit: Annotated[str, _form(parse_audit)] = Field(
        default="none", description="Where a line about every write goes: stderr, /path/to/file or none"
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="WARNING", description="How much is written to standard error"
    )

    def owners(self, folder: Path | None = None) -> Owners:
        """Return the memories that are used beside the user's own, for a client in this folder.

        Raises:
            ConfigurationError: A name is not valid, new facts go to an owner that is not named, or the project is to be
                found and no folder is known.
        """
        project = self.project
        if project == AUTO:
            if folder is None:
                raise ConfigurationError(f"{PREFIX}PROJECT=auto is for clients that start the server; name the project")
            project = repository_name(folder) or NONE
        has_no_project = project == NONE and self.new_facts == OwnerKind.PROJECT and self.project == AUTO
        try:
            return Owners(
                agent=_named(self.agent),
                project=_named(project),
                team=_named(self.team),
                shared=tuple(name.strip() for name in (_named(self.shared) or "").split(",") if name.strip()),
                new_facts=None if not self.new_facts or has_no_project else OwnerKind(self.new_facts),
            )
        except MemoryServerError as error:
            raise ConfigurationError(f"{PREFIX}PROJECT, AGENT, TEAM, SHARED, NEW_FACTS: {error}") from error

    def scope_in(self, folder: Path) -> Scope:
        """Return the scope of the user, with the memories beside it, for a client in this folder.

        Raises:
            ConfigurationError: A setting is not valid.
        """
        return self.owners(folder).scope(self.scope().user_id)

    def scope(self) -> Scope:
        """Return the scope of the user that the settings name.

        Raises:
            ConfigurationError: The name is not valid.
        """
        try:
            return Scope(self.user)
        except MemoryServerError as error:
            raise ConfigurationError(f"{PREFIX}USER: {error}") from error


def _named(name: str) -> str | None:
    return None if name.strip() in ("", NONE) else name.strip()


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
