"""Make the guard of a server from the settings."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from mcp_memory_server.addresses import Issuer, TokensInFile, parse_auth
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.server.access.gate import WELL_KNOWN, Guard, Resource
from mcp_memory_server.server.access.host_names import HostNames, is_loopback, of_this_machine
from mcp_memory_server.server.access.machine_token import machine_token
from mcp_memory_server.server.access.principal import OWN_MEMORY, Permission, Principal
from mcp_memory_server.server.access.verifier import AnyVerifier, OneToken, Verifier
from mcp_memory_server.server.limits.fair_use import FairUse


def guard_for(
    host: str,
    port: int,
    user: Scope,
    folder: Path,
    *,
    auth: str,
    hosts: Sequence[str],
    is_open: bool,
    fair_use: FairUse | None = None,
) -> Guard:
    """Return who may reach the server, and how.

    ``auth`` and ``hosts`` are settings; ``folder`` has the files of tokens. On loopback a token of this machine is
    needed if ``auth`` is empty, and none if the operator asked for that with ``is_open``. ``fair_use`` limits the users
    of a server that has many; a server for one person has no limits for them.

    Raises:
        ConfigurationError: As `check_exposure` says, or a file of tokens cannot be used.
    """
    check_exposure(host, auth=auth, hosts=hosts, is_open=is_open)
    names = of_this_machine(port, hosts) if is_loopback(host) else HostNames(hosts, secure=True)
    person = Principal(user.user_id, OWN_MEMORY | {Permission.OPERATE})
    if is_open:
        return Guard(names, None, everybody=person)
    if not auth:
        return Guard(names, OneToken(machine_token(folder), person))
    return Guard(names, *_verified(auth, folder, hosts or [f"{host}:{port}"]), fair_use=fair_use)


def check_exposure(host: str, *, auth: str, hosts: Sequence[str], is_open: bool) -> None:
    """Check that other machines can connect only with a verifier, and only under names that are known.

    Raises:
        ConfigurationError: The server would be open to others, or a setting is missing.
    """
    local = is_loopback(host)
    if not local and (is_open or not auth):
        raise ConfigurationError(
            f"without MCP_MEMORY_AUTH the server listens on this machine only, not on {host!r}; use --host 127.0.0.1"
        )
    if not local and not hosts:
        raise ConfigurationError(
            f"to listen on {host!r}, set MCP_MEMORY_HOSTS to the names of the server, for example memory.example"
        )
    if is_open and auth:
        raise ConfigurationError("--no-auth and MCP_MEMORY_AUTH contradict each other; leave one out")


def _verified(auth: str, folder: Path, hosts: Sequence[str]) -> tuple[Verifier, None, Resource | None]:
    verifiers: list[Verifier] = []
    issuers: list[Issuer] = []
    for source in parse_auth(auth):
        match source:
            case TokensInFile(path):
                # Imported here, like the next: most servers need only one of them.
                from mcp_memory_server.server.access.token_file import FILE_NAME, TokenFile

                verifiers.append(TokenFile(path or folder / FILE_NAME))
            case Issuer():
                from mcp_memory_server.server.access.issuer_keys import IssuerKeys
                from mcp_memory_server.server.access.jwt_verifier import JwtVerifier

                issuers.append(source)
                verifiers.append(JwtVerifier(source.address, source.audience, IssuerKeys(source.address, source.jwks)))
    return AnyVerifier(verifiers), None, _resource(issuers, hosts)


def _resource(issuers: Sequence[Issuer], hosts: Sequence[str]) -> Resource | None:
    if not issuers:
        return None
    audience = issuers[0].audience
    named = urlsplit(audience)
    # An audience that is not an address of this server ("api://memory") cannot be where its metadata is.
    is_address = named.scheme in ("http", "https") and named.netloc
    address = audience if is_address else f"https://{hosts[0]}/mcp"
    parts = urlsplit(address)
    metadata = f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path.rstrip('/')}"
    return Resource(address, metadata, [issuer.address for issuer in issuers])
