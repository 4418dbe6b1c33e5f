"""A server that is killed without warning loses nothing that it acknowledged, and damages no file."""

import asyncio
import random
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.faults.clients import environment, stored_facts

pytestmark = pytest.mark.anyio

# What a client sends: the handshake, then one write after the other without waiting for answers.
HANDSHAKE = (
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    '"clientInfo":{"name":"killer","version":"1"}}}\n'
    '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
)


@dataclass
class Toll:
    """What the kills did, to be read in the failure message."""

    seed: int
    kills: int = 0
    acknowledged: list[str] = field(default_factory=list[str])


@pytest.mark.parametrize(
    "kills", [pytest.param(15, id="15 kills"), pytest.param(200, id="200 kills", marks=pytest.mark.slow)]
)
async def test_kill_9_at_random_moments_loses_no_acknowledged_write(tmp_path: Path, kills: int) -> None:
    table = tmp_path / "memory.db"
    toll = Toll(seed=random.randrange(2**32))
    chance = random.Random(toll.seed)

    while toll.kills < kills:
        toll.acknowledged += await write_until_killed(table, chance, first=toll.kills * 1000)
        toll.kills += 1

    kept = {fact.id for fact in await stored_facts(table)}
    lost = set(toll.acknowledged) - kept
    print(f"seed {toll.seed}: {toll.kills} kills, {len(toll.acknowledged)} acknowledged, {len(lost)} lost")
    assert toll.acknowledged
    assert not lost, f"seed {toll.seed}: lost {len(lost)} of {len(toll.acknowledged)}"
    with closing(sqlite3.connect(table)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def write_until_killed(table: Path, chance: random.Random, first: int) -> list[str]:
    """Let a server acknowledge a random number of writes, kill it a moment later, and return what it acknowledged."""
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "mcp_memory_server", env=environment(f"sqlite://{table}"), stdin=PIPE, stdout=PIPE
    )
    if server.stdin is None:
        raise AssertionError
    server.stdin.write(HANDSHAKE.encode())
    server.stdin.write("".join(_write(number) for number in range(first, first + 300)).encode())
    acknowledged = await _read(server, chance.randrange(1, 40))
    await asyncio.sleep(chance.uniform(0, 0.01))
    server.send_signal(signal.SIGKILL)
    acknowledged += await _read(server, 1000)
    await server.wait()
    server.stdin.close()
    return acknowledged


def _write(number: int) -> str:
    call = f'{{"name":"remember_fact","arguments":{{"fact":"Ana has seen film {number}."}}}}'
    return f'{{"jsonrpc":"2.0","id":{number + 1},"method":"tools/call","params":{call}}}\n'


async def _read(server: Process, most: int) -> list[str]:
    """Return the ids in up to so many answers, fewer if the server is gone. Half a line is no answer."""
    import json

    ids: list[str] = []
    while len(ids) < most and server.stdout is not None and (line := await server.stdout.readline()).endswith(b"\n"):
        content = json.loads(line).get("result", {}).get("structuredContent")
        if content is not None:
            ids.append(content["id"])
    return ids
