"""Commands for the tokens of this server's own."""

import argparse
from datetime import datetime, timedelta

from mcp_memory_server.addresses import TokensInFile, parse_auth
from mcp_memory_server.cli.printing import print_json, print_table, say
from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.server.access.principal import Permission
from mcp_memory_server.server.access.token_file import FILE_NAME, StaticToken, TokenFile
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring import local_folder

LONGEST_DAYS = 3650


async def create(parsed: argparse.Namespace, settings: Settings) -> int:
    """Make a token and print it: it is shown this once."""
    file = _file(settings)
    token, text = file.create(settings.scope().user_id, _permissions(parsed.permissions), parsed.name, _expiry(parsed))
    if parsed.json:
        print_json({**_shown(token), "token": text})
        return 0
    print(text)
    say(f"The token {token.id} of {token.user!r} may {token.permissions}. It is not shown again.")
    if not any(isinstance(source, TokensInFile) for source in parse_auth(settings.auth)):
        say("Set MCP_MEMORY_AUTH=tokens: where the server runs, so that it accepts such tokens.")
    return 0


async def list_(parsed: argparse.Namespace, settings: Settings) -> int:
    """List the tokens."""
    tokens, now = _file(settings).all(), utc_now()
    if parsed.json:
        print_json([{**_shown(token), "valid": token.is_valid(now)} for token in tokens])
        return 0
    rows = [(one.id, one.user, _state(one, now), one.created_at[:10], one.name, one.permissions) for one in tokens]
    print_table(("id", "user", "state", "created", "name", "permissions"), rows, "There are no tokens.")
    return 0


async def revoke(parsed: argparse.Namespace, settings: Settings) -> int:
    """Refuse a token from now on."""
    token = _file(settings).revoke(parsed.id)
    say(f"The token {token.id} of {token.user!r} is revoked: it is refused from the next request on.")
    return 0


def _file(settings: Settings) -> TokenFile:
    named = next((one.path for one in parse_auth(settings.auth) if isinstance(one, TokensInFile)), None)
    return TokenFile(named or local_folder(settings) / FILE_NAME)


def _permissions(text: str) -> str:
    known = {one.value.removeprefix("memory:"): one for one in Permission}
    names = [name.strip().removeprefix("memory:") for name in text.split(",")]
    if unknown := [name for name in names if name not in known]:
        raise InvalidRequestError(f"--permissions: {unknown[0]!r} is not one of {', '.join(known)}")
    return " ".join(one.value for name, one in known.items() if name in names)


def _expiry(parsed: argparse.Namespace) -> datetime | None:
    if parsed.days is None:
        return None
    if not 0 < parsed.days <= LONGEST_DAYS:
        raise InvalidRequestError(f"--days is from 1 to {LONGEST_DAYS:,}, got {parsed.days}")
    return utc_now() + timedelta(days=parsed.days)


def _state(token: StaticToken, now: datetime) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "valid" if token.is_valid(now) else "expired"


def _shown(token: StaticToken) -> dict[str, str | None]:
    return {
        "id": token.id,
        "user": token.user,
        "name": token.name,
        "permissions": token.permissions,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
    }
