"""The owner that a command names with --in."""

import argparse
from pathlib import Path

from mcp_memory_server.domain.kernel.scope import Owner, OwnerKind, Scope
from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.settings import Settings

FORMS = "user, agent:NAME, project:NAME, team:NAME or shared:NAME"


def scope_of(parsed: argparse.Namespace, settings: Settings) -> Scope:
    """Return the scope of the owner that is named, else that of the settings, in this folder.

    Raises:
        ConfigurationError: The owner is not named as it should be.
    """
    named: str | None = getattr(parsed, "owner", None)
    if named is None:
        return settings.scope_in(Path.cwd())
    kind, _, name = named.partition(":")
    user = settings.scope().user_id
    makers = {
        OwnerKind.AGENT: lambda: Owner.agent(user, name),
        OwnerKind.PROJECT: lambda: Owner.project(user, name),
        OwnerKind.TEAM: lambda: Owner.team(name),
        OwnerKind.SHARED: lambda: Owner.shared(name),
    }
    if named == OwnerKind.USER:
        return settings.scope()
    if kind not in makers or not name:
        raise ConfigurationError(f"--in must be {FORMS}, got {named!r}")
    return Scope(user, remember_in=makers[OwnerKind(kind)]())
