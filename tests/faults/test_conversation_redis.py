"""Redis dies, hangs or forgets, for everybody or for one process only: no answer misses an acknowledged turn."""

import asyncio
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.services.sessions import cache_epoch as cache_epoch
from mcp_memory_server.services.sessions import outbox_worker as outbox_worker
from tests.engines.http_proxy import Fate, HttpProxy, always, for_writes
from tests.engines.link import Link
from tests.engines.servers import RedisServer
from tests.engines.tcp_proxy import TcpProxy
from tests.faults.conversations import CHAT, dynamodb_url, settings, until_delivered
from tests.faults.talks import TURNS_EACH, Happening, Talk, talking
from tests.stores.tables import DynamoDbAddress

pytestmark = pytest.mark.anyio

SHORT_LOOK = timedelta(milliseconds=500)
QUICK_SESSIONS, FULL_SESSIONS = 2, 20


def sizes(quick_table: str) -> list[Any]:
    """Return the tables and how many sessions there are: few on one of them, and the long run on each."""
    full = [
        pytest.param(table, FULL_SESSIONS, id=f"{table}, full", marks=[pytest.mark.slow, pytest.mark.timeout(1800)])
        for table in ("sqlite", "dynamodb")
    ]
    return [pytest.param(quick_table, QUICK_SESSIONS, id=f"{quick_table}, quick"), *full]


@pytest.fixture
def table(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite://{tmp_path}/memory.db"
    address = request.getfixturevalue("dynamodb_table")
    return dynamodb_url(address.table, address.endpoint)


@pytest.fixture
def sessions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many sessions there are. In the quick run a process believes in its copies for a shorter time."""
    if request.param == QUICK_SESSIONS:
        monkeypatch.setattr(cache_epoch, "SNAPSHOT_LASTS", SHORT_LOOK)
        monkeypatch.setattr(outbox_worker, "PROBE_SECONDS", SHORT_LOOK.total_seconds())
    return request.param


def killed(redis: RedisServer) -> Iterator[Callable[[], None]]:
    """It is gone, and comes back with nothing."""
    yield redis.kill
    yield redis.start


def frozen(redis: RedisServer) -> Iterator[Callable[[], None]]:
    yield redis.freeze
    yield redis.thaw


def emptied(redis: RedisServer) -> Iterator[Callable[[], None]]:
    """It is killed and started again at once, with nothing."""

    def restart() -> None:
        redis.kill()
        redis.start()

    yield restart
    yield restart


Fault = Callable[[RedisServer], Iterator[Callable[[], None]]]

FAULTS = [
    pytest.param(fault, *size.values, id=f"{fault.__name__}, {size.id}", marks=size.marks)
    for fault, quick_table in ((killed, "dynamodb"), (frozen, "sqlite"), (emptied, "sqlite"))
    for size in sizes(quick_table)
]
LINK_FAULTS = [
    pytest.param(fault, *size.values, id=f"{fault.__name__}, {size.id}", marks=size.marks)
    for fault, quick_table in ((Link.cut, "sqlite"), (Link.hang, "dynamodb"))
    for size in sizes(quick_table)
]


@pytest.mark.parametrize(("fault", "table", "sessions"), FAULTS, indirect=["table", "sessions"])
async def test_redis_fails_in_mid_session_and_every_load_has_every_turn(
    own_redis: RedisServer, tmp_path: Path, fault: Fault, table: str, sessions: int
) -> None:
    chosen = settings(tmp_path, table=table, sessions=own_redis.url)

    async with talking(chosen, chosen) as talk:
        for number in range(sessions):
            fails, heals = (in_a_thread(act) for act in fault(own_redis))
            await talk.session(number, at_random(talk.account.chance, fails, heals))
        await settle(talk)


@pytest.mark.parametrize(("fault", "table", "sessions"), LINK_FAULTS, indirect=["table", "sessions"])
async def test_redis_fails_for_one_process_only_and_no_copy_that_missed_a_turn_is_served(
    own_redis: RedisServer, tmp_path: Path, fault: Callable[[Link], None], table: str, sessions: int
) -> None:
    async with Link(own_redis.port) as link:
        direct = settings(tmp_path, table=table, sessions=own_redis.url)
        through_link = settings(tmp_path, table=table, sessions=f"redis://127.0.0.1:{link.port}/0")

        async with talking(direct, through_link) as talk:
            for number in range(sessions):
                fails, heals = at_once(lambda: fault(link)), at_once(link.heal)
                await talk.session(number, at_random(talk.account.chance, fails, heals))
            await settle(talk)


async def test_a_turn_that_was_delivered_past_an_older_look_is_in_the_next_load(
    own_redis: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process was away so briefly that the other one never looked: its copy misses what was delivered since."""
    monkeypatch.setattr(cache_epoch, "SNAPSHOT_LASTS", timedelta(minutes=1))
    async with Link(own_redis.port) as link:
        direct = settings(tmp_path, sessions=own_redis.url)
        through_link = settings(tmp_path, sessions=f"redis://127.0.0.1:{link.port}/0")
        async with talking(direct, through_link) as talk:
            reader, writer = talk.partners
            await talk.account.append(writer.memory, CHAT, "first")
            await talk.until_copies_are_served(CHAT)

            link.cut()
            appended = await talk.account.append(writer.memory, CHAT, "second")
            link.heal()
            await until_delivered(writer.memory)
            await talk.load(CHAT, reader)

            assert appended.pending
            assert talk.wrong == []


async def test_a_turn_whose_place_in_the_copy_was_not_heard_of_is_told_once(
    own_redis: RedisServer, dynamodb_table: DynamoDbAddress, tmp_path: Path
) -> None:
    """The copy took the turn under one id, its reply was lost, and the outbox has the turn under another id."""
    async with TcpProxy(own_redis.port) as lossy, HttpProxy(dynamodb_table.endpoint) as proxy:
        table = dynamodb_url(dynamodb_table.table, proxy.endpoint)
        direct = settings(tmp_path, table=table, sessions=own_redis.url, acknowledge="outbox")
        through_proxy = settings(
            tmp_path, table=table, sessions=f"redis://127.0.0.1:{lossy.port}/0", acknowledge="outbox"
        )
        async with talking(direct, through_proxy) as talk:
            reader, writer = talk.partners
            await talk.account.append(writer.memory, CHAT, "first")
            await until_delivered(writer.memory)
            await talk.until_copies_are_served(CHAT)

            proxy.decide(for_writes(Fate.HANGS))
            await talk.account.append(reader.memory, CHAT, "second")
            lossy.lose_next_reply = True
            said_before = NewTurn(Role.USER, "third", said_at=datetime.now(UTC) - timedelta(minutes=1))
            await writer.memory.conversations.append(CHAT, said_before, operation_id="third")
            loaded = await reader.memory.conversations.load(CHAT)
            proxy.decide(always(Fate.PASSES))

            assert lossy.lost == 1
            assert [turn.content for turn in loaded.turns] == ["first", "second", "third"]
            assert loaded.turn_count == 3


async def settle(talk: Talk) -> None:
    for partner in talk.partners:
        await until_delivered(partner.memory)
    await talk.account.settle(talk.partners[0].memory, loads=talk.loads, hits=talk.hits, pending=talk.pending)
    assert talk.wrong == [], f"seed {talk.account.seed}"


def at_random(chance: random.Random, *happenings: Happening) -> dict[int, Happening]:
    """Let these happen one after the other at random moments of a session."""
    moments = sorted(chance.sample(range(1, 2 * TURNS_EACH), len(happenings)))
    return dict(zip(moments, happenings, strict=True))


def in_a_thread(act: Callable[[], None]) -> Happening:
    async def happen() -> None:
        await asyncio.to_thread(act)

    return happen


def at_once(act: Callable[[], None]) -> Happening:
    async def happen() -> None:
        act()

    return happen
