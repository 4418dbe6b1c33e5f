"""Agents in several processes change one state: nothing is lost, also when they are killed without warning."""

import asyncio
import json
import os
import random
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_plugins.state.session_state import SessionState
from mcp_memory_server import Settings, open_memory
from tests.engines.servers import RedisServer
from tests.faults.appenders import Appender
from tests.faults.clients import ROOT
from tests.faults.conversations import environment_of, settings
from tests.faults.state_changer import CHAT, Task, counts

pytestmark = pytest.mark.anyio

PROCESSES, AGENTS = 4, 8


@pytest.fixture(params=["sqlite", "redis"])
def chosen(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    if request.param == "redis":
        return settings(tmp_path, sessions=request.getfixturevalue("own_redis").url)
    return settings(tmp_path)


@asynccontextmanager
async def changing(chosen: Settings, task: Task) -> AsyncGenerator[Appender]:
    """Run the program. It is killed at the end if it still runs."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.state_changer", task.text()),
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment_of(chosen)},
        stdin=DEVNULL,
        stdout=PIPE,
    )
    try:
        yield Appender(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def state_of(chosen: Settings) -> SessionState:
    async with open_memory(chosen) as memory:
        return SessionState.from_plain((await memory.states.read(CHAT)).value)


@pytest.mark.parametrize(
    "updates", [pytest.param(400, id="400 updates"), pytest.param(2000, id="2,000 updates", marks=pytest.mark.slow)]
)
async def test_eight_agents_in_four_processes_lose_no_update(chosen: Settings, updates: int) -> None:
    names = [f"agent-{number}" for number in range(AGENTS)]

    async def work(agents: list[str]) -> list[str]:
        async with changing(chosen, Task(agents, updates // AGENTS)) as program:
            acknowledged = await program.acknowledged()
            assert await program.ended() == 0
            return acknowledged

    said = await asyncio.gather(*(work(names[place::PROCESSES]) for place in range(PROCESSES)))

    state = await state_of(chosen)
    acknowledged = sum(map(len, said))
    found = counts(state)
    print(
        json.dumps({"acknowledged": acknowledged, "found": sum(found.values()), "lost": updates - sum(found.values())})
    )
    assert acknowledged == updates
    assert found == dict.fromkeys(names, updates // AGENTS)
    assert state.conversation.turn_count == updates


@pytest.mark.parametrize(
    ("updates", "restarts"),
    [pytest.param(80, 3, id="quick"), pytest.param(1600, 50, id="50 restarts", marks=pytest.mark.slow)],
)
async def test_a_redis_that_is_restarted_empty_loses_no_acknowledged_change(
    tmp_path: Path, own_redis: RedisServer, updates: int, restarts: int
) -> None:
    chosen = settings(tmp_path, sessions=own_redis.url)
    names = [f"agent-{number}" for number in range(AGENTS)]
    done: set[int] = set()

    async def work(place: int) -> list[str]:
        async with changing(chosen, Task(names[place::PROCESSES], updates // AGENTS)) as program:
            acknowledged = await program.acknowledged()
            done.add(place)
            assert await program.ended() == 0  # it fails at the first complete answer that lacks a change of its own
            return acknowledged

    async def restart() -> int:
        times = 0
        while times < restarts and len(done) < PROCESSES:
            await asyncio.to_thread(own_redis.kill)
            await asyncio.to_thread(own_redis.start)
            times += 1
        return times

    working = asyncio.gather(*(work(place) for place in range(PROCESSES)))
    times, said = await asyncio.gather(restart(), working)

    found = counts(await state_of(chosen))
    acknowledged = sum(map(len, said))
    print(json.dumps({"restarts": times, "acknowledged": acknowledged, "lost": acknowledged - sum(found.values())}))
    assert times == restarts
    assert found == dict.fromkeys(names, updates // AGENTS)


@pytest.mark.parametrize(
    ("turns", "kills"),
    [pytest.param(150, 3, id="quick"), pytest.param(1000, 20, id="full", marks=pytest.mark.slow)],
)
async def test_kill_9_is_followed_by_the_state_of_the_last_acknowledged_turn(
    chosen: Settings, turns: int, kills: int
) -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    acknowledged, restored = 0, list[tuple[int, int]]()
    for moment in sorted(chance.sample(range(1, turns), kills)):
        async with changing(chosen, Task(["orders"], turns, acknowledged)) as program:
            restored.append((acknowledged, await restored_turns(program)))
            acknowledged += len(await program.acknowledged(moment - acknowledged))
            await asyncio.sleep(chance.uniform(0, 0.005))
            acknowledged += len(await program.kill())
    async with changing(chosen, Task(["orders"], turns, acknowledged)) as program:
        restored.append((acknowledged, await restored_turns(program)))
        acknowledged += len(await program.acknowledged())

    state = await state_of(chosen)
    print(json.dumps({"seed": seed, "kills": kills, "acknowledged": acknowledged, "found": counts(state)["orders"]}))
    # What was being written when it was killed may be there, and is recognised when it is sent again.
    assert all(known <= found <= known + 1 for known, found in restored), restored
    assert (acknowledged, counts(state), state.conversation.turn_count) == (turns, {"orders": turns}, turns)


async def restored_turns(program: Appender) -> int:
    told = await program.told()
    assert told is not None
    return told["restored"]
