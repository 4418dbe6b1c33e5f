"""What was acknowledged in conversations, and what became of it."""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcp_memory_server import Memory, Scope, Settings, UnavailableError
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.services.conversations.conversations import AppendedTurn
from mcp_memory_server.services.sessions.session_reader import LoadedSession

USER = "ana"
CHAT = Scope(USER, "chat")
PATIENCE = 120
"""Seconds. Whatever has to happen by itself has happened by then, also on a busy machine."""


@dataclass
class Account:
    """Every turn that was acknowledged, by session and in the order of each writer; the seed repeats the run."""

    seed: int = field(default_factory=lambda: random.randrange(2**32))
    acknowledged: dict[Scope, list[str]] = field(default_factory=dict[Scope, list[str]])
    may_be_there: set[str] = field(default_factory=set[str])
    """What a caller was told could not be kept for sure."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def note(self, scope: Scope, content: str) -> None:
        self.acknowledged.setdefault(scope, []).append(content)

    async def append(self, memory: Memory, scope: Scope, content: str) -> AppendedTurn:
        """Append a turn, and write down that it was acknowledged."""
        appended = await append(memory, scope, content)
        self.note(scope, content)
        return appended

    async def tally(self, memory: Memory) -> dict[str, int]:
        """Read everything and return what it came to: every number but that of what was acknowledged has to be 0."""
        lost, duplicated, strange, found, miscounted, disordered = 0, 0, 0, 0, 0, 0
        for scope, acknowledged in self.acknowledged.items():
            contents, counted = await everything(memory, scope)
            times = Counter(contents)
            found += len(contents)
            lost += sum(1 for content in acknowledged if not times[content])
            duplicated += sum(number - 1 for number in times.values())
            strange += sum(1 for content in times if content not in {*acknowledged, *self.may_be_there})
            miscounted += counted != len(contents)
            disordered += not _in_order(acknowledged, contents)
        return {
            "acknowledged": sum(map(len, self.acknowledged.values())),
            "found": found,
            "lost": lost,
            "duplicated": duplicated,
            "strange": strange,
            "miscounted": miscounted,
            "disordered": disordered,
        }

    async def settle(self, memory: Memory, **more: Any) -> None:
        """Read everything, print what it came to, and insist that it is exact."""
        tally = await self.tally(memory)
        line = {"seed": self.seed, "sessions": len(self.acknowledged), **tally, **more}
        print(json.dumps(line))
        assert self.acknowledged
        wrong = ("lost", "duplicated", "strange", "miscounted", "disordered")
        assert [tally[name] for name in wrong] == [0] * len(wrong), line


async def append(memory: Memory, scope: Scope, content: str) -> AppendedTurn:
    """Append a turn. What it begins with is its operation id."""
    return await memory.conversations.append(scope, NewTurn(Role.USER, content), operation_id=content[:100])


async def everything(memory: Memory, scope: Scope) -> tuple[list[str], int]:
    """Return what every turn of a session says, oldest first, and how many it is said to have."""
    loaded = await memory.conversations.load(scope, turns=500)
    turns, cursor = list(loaded.turns), loaded.cursor
    while cursor is not None:
        older = await memory.conversations.before(scope, cursor, turns=500)
        turns, cursor = [*older.turns, *turns], older.cursor
    assert [turn.id for turn in turns] == sorted(turn.id for turn in turns)
    return [turn.content for turn in turns], loaded.turn_count


def missing_from(loaded: LoadedSession, acknowledged: Sequence[str]) -> set[str]:
    """Return what a complete answer lacks. One that says that it may lack something is no lie."""
    if loaded.status is not Status.COMPLETE:
        return set()
    return set(acknowledged) - {turn.content for turn in loaded.turns}


async def until(holds: Callable[[], Awaitable[bool]], what: str) -> float:
    """Wait for what happens by itself, and return how many seconds that took."""
    began = time.monotonic()
    while not await holds():
        if time.monotonic() - began > PATIENCE:
            raise AssertionError(f"{what}: not within {PATIENCE} s")
        await asyncio.sleep(0.02)  # until others have done their part; it decides nothing
    return time.monotonic() - began


async def until_delivered(memory: Memory) -> float:
    """Wait until nothing is on its way to the table, and return how many seconds that took."""

    async def holds() -> bool:
        with suppress(UnavailableError):  # on a busy machine it may not answer in time
            return (await memory.redrive.waiting()).turns == 0
        return False

    return await until(holds, "the outbox is empty")


def dynamodb_url(table: str, endpoint: str) -> str:
    return f"dynamodb://{table}?region=eu-central-1&endpoint={quote(endpoint, safe='')}"


def settings(folder: Path, **more: Any) -> Settings:
    """Return settings with everything in this folder, but for what is said otherwise."""
    own = {"table": f"sqlite://{folder}/memory.db", "outbox": f"sqlite://{folder}/outbox.db", "user": USER}
    return Settings(**{**own, **more})


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the settings as the environment of a process."""
    return {f"MCP_MEMORY_{name.upper()}": str(value) for name, value in settings.model_dump().items()}


def _in_order(acknowledged: Sequence[str], found: Sequence[str]) -> bool:
    """Tell whether each writer's turns are in the order in which they were acknowledged to it."""
    for writer in {_writer(content) for content in acknowledged}:
        theirs = [content for content in acknowledged if _writer(content) == writer]
        known = set(theirs)
        if [content for content in found if content in known] != theirs:
            return False
    return True


def _writer(content: str) -> str:
    return content.partition(" ")[0]
