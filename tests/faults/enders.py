"""Sessions that are over, processes that sum them up, and what they came to."""

import asyncio
import json
import os
import random
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from mcp_memory_server import Memory, NewTurn, Role, Scope, Settings, open_memory
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.ending_records import ending_from, ending_key
from tests.faults.clients import ROOT
from tests.faults.conversations import PATIENCE, environment_of

LEASE_SECONDS = 2.0
USERS = 25
AT_ONCE = 16


@dataclass(frozen=True)
class Outcome:
    """What was found at the end of a run: every number but the kills is to be that of the sessions, or nothing."""

    seed: int
    sessions: int
    kills: int
    summaries: int
    lost: int
    duplicated: int
    learned_twice: int


def sessions_of(count: int) -> list[Scope]:
    return [Scope(f"user {number % USERS}", f"chat {number}") for number in range(count)]


async def hold_sessions(settings: Settings, sessions: list[Scope]) -> None:
    """Talk in sessions hours ago: of half of them the deadline passed, the others were ended."""

    def then() -> datetime:
        return datetime.now(UTC) - timedelta(hours=3)

    quiet = settings.model_copy(update={"summarizer": "none"})
    async with open_memory(quiet, now=then) as memory:
        limit = asyncio.Semaphore(AT_ONCE)

        async def hold(number: int, session: Scope) -> None:
            async with limit:
                text = f"I prefer colour {number} for wall {number}."
                await memory.conversations.append(session, NewTurn(Role.USER, text))
                await memory.conversations.append(session, NewTurn(Role.ASSISTANT, "I will order the paint."))
                if number % 2:
                    await memory.conversations.end(session)

        await asyncio.gather(*(hold(number, session) for number, session in enumerate(sessions)))


async def run_and_kill(settings: Settings, count: int, seed: int) -> Outcome:
    """Let two processes sum up the sessions, and kill one of them at a random moment, again and again."""
    chance, sessions, kills = random.Random(seed), sessions_of(count), 0
    await hold_sessions(settings, sessions)
    began = time.monotonic()
    async with _enders(settings) as enders, _quietly(settings) as memory:
        while await _finished(memory, sessions) < count:
            assert time.monotonic() - began < PATIENCE, "the sessions are not summed up in time"
            victim = enders[chance.randrange(2)]
            await victim.kill_after(chance.uniform(0.0, 0.5))
            kills += 1
            await victim.start()
        return await _outcome(memory, sessions, seed, kills)


def say(outcome: Outcome) -> None:
    print(json.dumps(asdict(outcome)))


class Ender:
    """A process that looks after sessions, and is started again when it was killed."""

    def __init__(self, settings: Settings) -> None:
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment_of(settings)}
        self._process: Process | None = None

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.faults.ender", str(LEASE_SECONDS)),
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
        )

    async def kill_after(self, seconds: float) -> None:
        """Kill it so long after it began to look after sessions."""
        assert self._process is not None
        assert self._process.stdout is not None
        await self._process.stdout.readline()
        await asyncio.sleep(seconds)
        await self.kill()

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def _enders(settings: Settings) -> AsyncGenerator[list[Ender]]:
    enders = [Ender(settings), Ender(settings)]
    try:
        for ender in enders:
            await ender.start()
        yield enders
    finally:
        for ender in enders:
            await ender.kill()


@asynccontextmanager
async def _quietly(settings: Settings) -> AsyncGenerator[Memory]:
    async with open_memory(settings.model_copy(update={"summarizer": "none"})) as memory:
        yield memory


async def _finished(memory: Memory, sessions: list[Scope]) -> int:
    found = await memory.table.get_many([ending_key(session) for session in sessions])
    return sum(bool(ending_from(item).upto) for item in found.values())


async def _outcome(memory: Memory, sessions: list[Scope], seed: int, kills: int) -> Outcome:
    endings = await memory.table.get_many([ending_key(session) for session in sessions])
    times = [ending_from(item).times for item in endings.values()]
    summaries, supports = 0, list[int]()
    for user in sorted({session.user_id for session in sessions}):
        page = await memory.table.query(keys.user_partition(user), prefix=keys.SUMMARIES, limit=None)
        summaries += len(page.items)
        supports += [fact.support for fact in await memory.facts.all(Scope(user))]
    return Outcome(
        seed=seed,
        sessions=len(sessions),
        kills=kills,
        summaries=summaries,
        lost=len(sessions) - sum(1 for count in times if count),
        duplicated=sum(count - 1 for count in times if count > 1),
        learned_twice=len(supports) - len(sessions) + sum(support - 1 for support in supports),
    )
