"""Commands that add this server to a client's configuration, and remove it."""

import argparse
import asyncio
import difflib
import json
import os
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mcp_memory_server.cli.attaching.clients import Client, Launch, Machine, client_named, known_clients
from mcp_memory_server.cli.attaching.configuration import Configuration, snippet
from mcp_memory_server.cli.printing import print_json, print_table, say
from mcp_memory_server.cli.program import MODULE, PROGRAM
from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.errors import ConflictError, InvalidRequestError, NotFoundError
from mcp_memory_server.server.access.gate import PATH
from mcp_memory_server.server.access.host_names import is_loopback
from mcp_memory_server.server.access.machine_token import read_machine_token
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring import local_folder

DISTRIBUTION = "mcp-agent-memory"
SECONDS_TO_START = 30
LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()

_AWS_VARIABLES = ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE")


async def attach(parsed: argparse.Namespace, settings: Settings) -> int:
    """Write this server into the configuration of a client."""
    clients = known_clients(_this_machine())
    if parsed.client is None:
        return _list(clients, parsed)
    client = client_named(parsed.client, clients)
    launch = None if parsed.http else _launch(parsed, settings)
    entry = launch.entry(client.extra) if launch else await _http_entry(client, parsed, settings)
    if parsed.print:
        print(snippet(client, parsed.name, entry), end="")
        return 0
    configuration = Configuration(client)
    present = configuration.servers.get(parsed.name)
    if present == entry:
        say(f"{client.title} has {parsed.name!r} already: nothing was changed in {configuration.file}")
        return 0
    if present is not None and not _is_this_server(present):
        raise ConflictError(
            f"{parsed.name!r} in {str(configuration.file)!r} is another server ({_shown(present)!r}); "
            "choose another name with --name"
        )
    if launch is not None:
        await _check_that_it_starts(launch)
    change = f"{parsed.name!r} {'replaced' if present else 'added'}"
    text = configuration.with_server(parsed.name, entry)
    return _write(parsed, configuration, text, f"{client.title}: {change}", client.next_step)


async def detach(parsed: argparse.Namespace, _settings: Settings) -> int:
    """Remove this server from the configuration of a client."""
    client = client_named(parsed.client, known_clients(_this_machine()))
    configuration = Configuration(client)
    present = configuration.servers.get(parsed.name)
    if present is None:
        raise NotFoundError(f"there is no server {parsed.name!r} in {str(configuration.file)!r}")
    if not _is_this_server(present):
        raise ConflictError(
            f"{parsed.name!r} in {str(configuration.file)!r} is another server ({_shown(present)!r}); "
            "name the one to remove with --name"
        )
    text, next_step = configuration.without_server(parsed.name), f"Restart {client.title} to stop the server."
    return _write(parsed, configuration, text, f"{client.title}: {parsed.name!r} removed", next_step)


def _write(parsed: argparse.Namespace, configuration: Configuration, text: str, change: str, next_step: str) -> int:
    if parsed.dry_run:
        changed = difflib.unified_diff(
            configuration.text.splitlines(keepends=True),
            text.splitlines(keepends=True),
            str(configuration.file),
            f"{configuration.file} (not written)",
        )
        print("".join(changed), end="")
        return 0
    backup = configuration.write(text, utc_now())
    say(f"{change} in {configuration.file}")
    if backup is not None:
        say(f"The earlier file is {backup}")
    say(next_step)
    return 0


def _list(clients: Mapping[str, Client], parsed: argparse.Namespace) -> int:
    rows = [(client.name, _state(client, parsed.name), str(client.file)) for client in clients.values()]
    if parsed.json:
        print_json([{"client": name, "state": state, "file": file} for name, state, file in rows])
    else:
        print_table(("client", "state", "file"), rows, "")
        say(f"\n`{PROGRAM} attach CLIENT` adds the memory to one of them")
    return 0


def _state(client: Client, name: str) -> str:
    if not client.file.exists():
        return "not configured" if client.file.parent.exists() else "not found"
    present = Configuration(client).servers.get(name)
    if present is None:
        return "not attached"
    return "attached" if _is_this_server(present) else f"{name!r} is another server"


def _this_machine() -> Machine:
    return Machine(sys.platform, Path.home(), os.environ)


def _launch(parsed: argparse.Namespace, settings: Settings) -> Launch:
    """Return how a client starts this installation, with the settings that were given here.

    A client does not see the variables of a shell, so they are written down.
    """
    variables = {name: value for name, value in os.environ.items() if name.startswith("MCP_MEMORY_")}
    for name in ("table", "user"):
        if getattr(parsed, name, None) is not None:
            variables[f"MCP_MEMORY_{name.upper()}"] = getattr(settings, name)
    if settings.table.startswith(("dynamodb:", "dax:", "daxs:")):
        variables |= {name: os.environ[name] for name in _AWS_VARIABLES if name in os.environ}
    return Launch(*_command(), environment=dict(sorted(variables.items())))


def _command() -> tuple[str, list[str]]:
    environment = Path(sys.executable).parent
    if uvx := _uvx(environment):
        return uvx, [DISTRIBUTION]
    program = shutil.which(PROGRAM, path=str(environment))
    return (program, []) if program else (sys.executable, ["-m", MODULE])


def _uvx(environment: Path) -> str | None:
    """Return the path of uvx if it made this environment, which then may vanish with its cache."""
    is_cached = any(part.startswith(("archive-v", "environments-v")) for part in environment.parts)
    return shutil.which("uvx") if is_cached else None


async def _http_entry(client: Client, parsed: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Return how the client writes a server that runs already: its address, and the token of this machine.

    Raises:
        InvalidRequestError: The client cannot do that, or no such server answers.
    """
    if client.http is None:
        raise InvalidRequestError(f"{client.title} starts its own server; attach it without --http")
    address = urlsplit(parsed.http)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise InvalidRequestError(
            f"--http takes the address of a server, http://127.0.0.1:8765/mcp, got {parsed.http!r}"
        )
    token = parsed.token
    if token is None and is_loopback(address.hostname):  # never sent to another machine
        token = read_machine_token(local_folder(settings))
    await asyncio.to_thread(_check_that_it_answers, parsed.http, token)
    return client.http.entry(parsed.http, token)


def _check_that_it_answers(address: str, token: str | None) -> None:
    """Send one request as a client would.

    Raises:
        InvalidRequestError: Nothing answers there, or not with this token.
    """
    authorized = {"Authorization": f"Bearer {token}"} if token else {}
    accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(address, LIST, {**accepted, **authorized})  # noqa: S310 - http or https
    try:
        urllib.request.urlopen(request, timeout=SECONDS_TO_START).close()  # noqa: S310
    except urllib.error.HTTPError as error:
        error.close()
        needs = "it needs a token, see --token" if token is None else "it does not accept the token"
        reason = needs if error.code in (401, 403) else f"it answers {error.code}"
        raise InvalidRequestError(f"nothing was changed: {address} does not let a client in: {reason}") from None
    except OSError as error:
        raise InvalidRequestError(
            f"nothing was changed: no server answers at {address} ({error}); start `{PROGRAM} serve --http`"
        ) from None


def _shown(entry: Mapping[str, Any]) -> str:
    return str(entry.get("command") or entry.get("url") or entry.get("serverUrl"))


def _is_this_server(entry: Mapping[str, Any]) -> bool:
    address = urlsplit(str(entry.get("url") or entry.get("serverUrl") or ""))
    if "command" not in entry and is_loopback(address.hostname or "") and address.path == PATH:
        return True
    started = [str(entry.get("command", "")), *map(str, entry.get("args") or [])]
    return any(Path(part).stem in (PROGRAM, DISTRIBUTION, MODULE) for part in started)


async def _check_that_it_starts(launch: Launch) -> None:
    """Run the command as a client would, before it is written into a file.

    Raises:
        InvalidRequestError: It does not start.
    """
    process = await asyncio.create_subprocess_exec(
        launch.command,
        *launch.arguments,
        "--version",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **(launch.environment or {})},
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), SECONDS_TO_START)
        problem = output.decode(errors="replace").strip() if process.returncode else None
    except TimeoutError:
        process.kill()
        problem = f"no answer within {SECONDS_TO_START} seconds"
    if problem is not None:
        raise InvalidRequestError(f"{launch.command!r} does not start, so nothing was changed: {problem}")
