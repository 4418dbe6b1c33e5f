"""The command that tries, on the real stores, to reach one user's memory as another."""

import argparse
import json
import secrets
import string
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp_memory_server.cli.existing import open_existing
from mcp_memory_server.cli.printing import print_json
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import MemoryServerError, UnavailableError
from mcp_memory_server.memory import Memory
from mcp_memory_server.server.conversation_tools import CONVERSATION_TOOLS
from mcp_memory_server.settings import Settings
from mcp_memory_server.tools import MEMORY_TOOLS

TOOLS = {tool.name: tool for tool in (*MEMORY_TOOLS, *CONVERSATION_TOOLS)}
SESSION, AGENT, PAST_AGENT, TOPIC = "verify session", "verify-agent", "verify-past-agent", "verify/boat"
CROSSED = 1


@dataclass(frozen=True)
class Attempt:
    """One read or deletion that was tried, and whether the owner's marker came back."""

    what: str
    found: bool


async def verify(parsed: argparse.Namespace, settings: Settings) -> int:
    """Return 0 if no foreign user found a thing, and the owner found everything: a check that finds nothing is none."""
    owner = f"verify-{secrets.token_hex(6)}"
    async with open_existing(settings) as memory, _erased_afterwards(memory, [owner, *lookalikes(owner)]):
        marker = "Isolda" + "".join(secrets.choice(string.ascii_lowercase) for _ in range(16))
        reads = await _saved(memory, Scope(owner), marker)
        foreign = [one for user in lookalikes(owner) for one in await _attempts(memory, Scope(user), reads, marker)]
        own = await _attempts(memory, Scope(owner), reads, marker)
    crossed, blind = [one.what for one in foreign if one.found], [one.what for one in own if not one.found]
    report = {"attempts": len(foreign), "crossed": len(crossed), "controls": len(own), "controls_failed": blind}
    if parsed.json:
        print_json({**report, "crossed_in": crossed})
    elif crossed:
        print(f"CROSSED: {len(crossed)} of {len(foreign)} attempts reached another user's memory: {', '.join(crossed)}")
    elif blind:
        print(f"nothing crossed, but the check is blind: the owner did not find the marker with {', '.join(blind)}")
    else:
        users = len(lookalikes(owner))
        print(f"{len(foreign)} attempts of {users} users crossed nothing; the owner found it all {len(own)} times")
    return CROSSED if crossed or blind else 0


def lookalikes(owner: str) -> list[str]:
    """Return ids that a key which is joined carelessly takes for the owner's, or for the beginning of it."""
    return [
        f"verify-{secrets.token_hex(6)}",
        *(owner[:-1], owner.upper(), f"{owner}#", f"{owner}#{SESSION}", f"{owner}%23{SESSION}", f"{owner}/x"),
        *(f"{owner}*", f"{owner}~", f"{owner}\u200b", "*", "%", "USER#" + owner, f"{owner}:{SESSION}"),
    ]


@asynccontextmanager
async def _erased_afterwards(memory: Memory, users: list[str]) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        for user in users:
            await memory.erasure.forget_user(Scope(user))


async def _saved(memory: Memory, owner: Scope, marker: str) -> list[tuple[str, dict[str, Any]]]:
    """Save the marker everywhere, and return the calls that would return it, or remove it, with the owner's ids."""
    session, past = {"session_id": SESSION}, {"agent": PAST_AGENT}
    fact = await _called(memory, owner, "remember_fact", {"fact": f"The boat is called {marker}.", "topic": TOPIC})
    await _called(memory, owner, "set_preference", {"key": "boat", "value": marker})
    for number in range(3):
        await _called(memory, owner, "append_turn", {**session, "role": "user", "content": f"{marker} {number}"})
    chat = (await _called(memory, owner, "create_chat", {"agent": AGENT, "title": marker}))["chat"]
    await _called(memory, owner, "create_chat", {**past, "title": marker})
    await _called(memory, owner, "delete_chat", past)
    await _called(memory, owner, "log_tool_call", {**session, "name": "boat", "duration_ms": 1, "output": marker})
    page = await _called(memory, owner, "load_session", {**session, "turns": 1})
    return [
        ("recall", {"query": "What is the boat called?", "max_tokens": 4000}),
        ("recall", {"query": "boat", "topic": TOPIC}),
        ("load_context", {}),
        ("load_context", session),
        ("load_session", session),
        ("load_session", {**session, "turns": 3, "view": "everything"}),
        ("load_session", {**session, "before": page["cursor"]}),
        ("active_chat", {"agent": AGENT}),
        ("past_chats", past),
        ("tool_log", {}),
        ("tool_log", session),
        ("set_chat_version", {"chat_id": chat["id"], "agent_version": "2"}),
        ("forget", {"id": fact["id"]}),  # last: it removes
    ]


async def _attempts(
    memory: Memory, scope: Scope, calls: list[tuple[str, dict[str, Any]]], marker: str
) -> list[Attempt]:
    found: list[Attempt] = []
    for name, arguments in calls:
        try:
            reply = json.dumps(await _called(memory, scope, name, arguments))
        except UnavailableError:
            raise  # nothing is proven
        except MemoryServerError:
            reply = ""  # refused: it is not there for this user
        found.append(Attempt(f"{name} as {scope.user_id!r}", marker in reply))
    exported = [line async for line in memory.archive.export(scope)]
    # The last attempt has removed the owner's fact: the preference and the turns are there.
    return [*found, Attempt(f"export as {scope.user_id!r}", any(marker in line for line in exported))]


async def _called(memory: Memory, scope: Scope, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return await TOOLS[name].call(memory, scope, arguments)
