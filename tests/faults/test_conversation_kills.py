"""A process that is killed without warning loses no turn that it acknowledged, and keeps none twice."""

import asyncio
from pathlib import Path

import pytest

from mcp_memory_server import Settings, open_memory
from mcp_memory_server.services.sessions import outbox_worker as outbox_worker
from tests.engines.servers import RedisServer
from tests.faults.appender import Task
from tests.faults.appenders import appending
from tests.faults.conversations import CHAT, Account, dynamodb_url, settings, until_delivered
from tests.faults.outboxes import waiting_in

pytestmark = pytest.mark.anyio

QUICK = (120, 3)
FULL = (1000, 10)
SHORT_LEASE = 0.5
SIZES = [
    pytest.param(*QUICK, SHORT_LEASE, id="quick"),
    pytest.param(*FULL, outbox_worker.LEASE.total_seconds(), id="full", marks=pytest.mark.slow),
]


@pytest.fixture(params=["sqlite", "dynamodb"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite://{tmp_path}/memory.db"
    address = request.getfixturevalue("dynamodb_table")
    return dynamodb_url(address.table, address.endpoint)


@pytest.mark.parametrize("acknowledge", ["outbox", "table"])
@pytest.mark.parametrize(("turns", "kills", "lease"), SIZES)
async def test_kill_9_at_random_moments_loses_no_turn_and_keeps_none_twice(
    tmp_path: Path, table: str, acknowledge: str, turns: int, kills: int, lease: float
) -> None:
    chosen, account = settings(tmp_path, table=table, acknowledge=acknowledge), Account()
    moments = sorted(account.chance.sample(range(1, turns), kills))
    waiting: list[int] = []

    for moment in moments:
        await append_until_killed(chosen, account, Task(upto=turns, lease_seconds=lease), moment)
        waiting.append(await waiting_in(tmp_path))
    await finish(chosen, account, Task(upto=turns, lease_seconds=lease))

    async with open_memory(chosen) as memory:
        await until_delivered(memory)
        await account.settle(memory, kills=len(moments), waiting=waiting)
    assert account.acknowledged[CHAT] == [f"turn {number}" for number in range(turns)]
    assert acknowledge == "table" or any(waiting)


@pytest.mark.parametrize(("turns", "kills", "lease"), SIZES)
async def test_kill_9_loses_no_turn_that_waits_in_the_redis_of_the_sessions(
    tmp_path: Path, table: str, own_redis: RedisServer, turns: int, kills: int, lease: float
) -> None:
    chosen = settings(tmp_path, table=table, acknowledge="outbox", sessions=own_redis.url, outbox="redis:")
    account = Account()
    moments = sorted(account.chance.sample(range(1, turns), kills))

    for moment in moments:
        await append_until_killed(chosen, account, Task(upto=turns, lease_seconds=lease), moment)
    await finish(chosen, account, Task(upto=turns, lease_seconds=lease))

    async with open_memory(chosen) as memory:
        await until_delivered(memory)
        await account.settle(memory, kills=len(moments))
    assert account.acknowledged[CHAT] == [f"turn {number}" for number in range(turns)]


async def append_until_killed(chosen: Settings, account: Account, task: Task, moment: int) -> None:
    """Go on where the last one was killed: what it did not acknowledge is sent again, as a caller would."""
    known = account.acknowledged.setdefault(CHAT, [])
    async with appending(chosen, _from(task, len(known))) as program:
        known += await program.acknowledged(moment - len(known))
        await asyncio.sleep(account.chance.uniform(0, 0.01))
        known += await program.kill()


async def finish(chosen: Settings, account: Account, task: Task) -> None:
    known = account.acknowledged[CHAT]
    async with appending(chosen, _from(task, len(known), ends=True)) as program:
        known += await program.acknowledged(task.upto - len(known))
        assert await program.ended() == 0


def _from(task: Task, first: int, *, ends: bool = False) -> Task:
    return Task(task.session, first, task.upto, task.lease_seconds, look_seconds=0.2, ends=ends)


@pytest.mark.parametrize(
    "lease",
    [
        pytest.param(1.0, id="short lease"),
        pytest.param(outbox_worker.LEASE.total_seconds(), id="its own lease", marks=pytest.mark.slow),
    ],
)
async def test_what_a_killed_process_left_in_the_outbox_is_delivered_by_one_that_runs(
    tmp_path: Path, lease: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen, account = settings(tmp_path, acknowledge="outbox"), Account()
    monkeypatch.setattr(outbox_worker, "IDLE_SECONDS", 0.2)
    async with open_memory(chosen) as memory:
        await account.append(memory, CHAT, "survivor 0")
        await until_delivered(memory)

        async with appending(chosen, Task(upto=200, lease_seconds=lease)) as program:
            turns = await program.acknowledged(60) + await program.kill()
        for turn in turns:
            account.note(CHAT, turn)
        left = await waiting_in(tmp_path)
        await account.append(memory, CHAT, "survivor 1")
        seconds = await until_delivered(memory)

        await account.settle(memory, left=left, seconds=round(seconds, 1))
    assert left > 0
