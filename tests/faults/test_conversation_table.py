"""The table is throttled, gone, or loses replies: turns are acknowledged all the same, and kept once, in order."""

import asyncio
import time
from pathlib import Path

import pytest

from mcp_memory_server import Memory, Settings, open_memory
from mcp_memory_server.domain.sessions.limits import MAX_TURNS, TOKEN_BUDGET
from mcp_memory_server.domain.sessions.turns import View
from mcp_memory_server.services.sessions.session_reader import LoadedSession
from tests.engines.http_proxy import Asked, Fate, HttpProxy, always
from tests.engines.servers import RedisServer
from tests.faults.conversations import CHAT, Account, append, dynamodb_url, settings, until, until_delivered
from tests.faults.talks import Reads
from tests.stores.tables import DynamoDbAddress

pytestmark = pytest.mark.anyio

BEFORE, AFTER = 5, 5
AT_ONCE = 200

OUTAGES = [
    pytest.param("redis", Fate.IS_THROTTLED, 1, id="throttled, quick"),
    pytest.param("redis", Fate.IS_DROPPED, 2, id="down, quick"),
    pytest.param("none", Fate.HANGS, 2, id="silent without copies, quick"),
    *(
        pytest.param(sessions, fate, seconds, id=f"{name}, {sessions}, full", marks=pytest.mark.slow)
        for sessions in ("redis", "none")
        for name, fate, seconds in (
            ("throttled", Fate.IS_THROTTLED, 10),
            ("down", Fate.IS_DROPPED, 30),
            ("silent", Fate.HANGS, 30),
        )
    ),
]


@pytest.mark.parametrize(("sessions", "fate", "seconds"), OUTAGES)
async def test_turns_are_acknowledged_while_the_table_takes_none_and_arrive_by_themselves(
    dynamodb_table: DynamoDbAddress, own_redis: RedisServer, tmp_path: Path, sessions: str, fate: Fate, seconds: int
) -> None:
    account, reads = Account(), Reads()
    async with HttpProxy(dynamodb_table.endpoint) as proxy:
        table = dynamodb_url(dynamodb_table.table, proxy.endpoint)
        chosen = settings(tmp_path, table=table, sessions=own_redis.url if sessions == "redis" else "none")
        async with open_memory(chosen, metrics=reads) as memory:
            await append_some(account, memory, BEFORE)
            if sessions == "redis":
                await served_from_cache(memory, reads)
            proxy.decide(always(fate))
            pending, slowest = await append_for(account, memory, seconds)
            proxy.decide(always(Fate.PASSES))
            await append_some(account, memory, AFTER)
            emptied = await until_delivered(memory)
            await account.settle(memory, pending=pending, slowest=round(slowest, 2), emptied=round(emptied, 1))
            assert await memory.redrive.count() == 0
    assert pending


async def append_some(account: Account, memory: Memory, turns: int) -> None:
    for _ in range(turns):
        await account.append(memory, CHAT, f"writer {len(account.acknowledged.get(CHAT, ()))}")


async def append_for(account: Account, memory: Memory, seconds: float) -> tuple[int, float]:
    """Append for so long; return how many turns were left pending, and how long the slowest took."""
    began, pending, slowest = time.monotonic(), 0, 0.0
    while (started := time.monotonic()) - began < seconds:
        appended = await account.append(memory, CHAT, f"writer {len(account.acknowledged[CHAT])}")
        pending += appended.pending
        slowest = max(slowest, time.monotonic() - started)
        await asyncio.sleep(0.05)  # as somebody who talks; otherwise it is the outbox that is measured
    return pending, slowest


@pytest.mark.parametrize("operation", ["TransactWriteItems", "PutItem", "UpdateItem"])
async def test_a_reply_that_is_lost_after_the_table_stored_something_changes_nothing(
    dynamodb_table: DynamoDbAddress, tmp_path: Path, operation: str
) -> None:
    account = Account()
    async with HttpProxy(dynamodb_table.endpoint) as proxy:
        chosen = settings(tmp_path, table=dynamodb_url(dynamodb_table.table, proxy.endpoint))
        async with open_memory(chosen) as memory:
            proxy.once(operation, Fate.LOSES_ITS_REPLY)
            await append_some(account, memory, 10)
        # Closing it counted what was not counted yet.
        async with open_memory(chosen) as memory:
            await account.settle(memory, met=told(proxy))
    assert proxy.met[operation, Fate.LOSES_ITS_REPLY] == 1


async def test_a_turn_that_the_table_stored_before_it_fell_silent_is_kept_once(
    dynamodb_table: DynamoDbAddress, tmp_path: Path
) -> None:
    account = Account()
    async with HttpProxy(dynamodb_table.endpoint) as proxy:

        def stores_it_and_falls_silent(asked: Asked) -> Fate:
            if asked.operation != "PutItem":
                return Fate.PASSES
            proxy.decide(always(Fate.HANGS))
            return Fate.LOSES_ITS_REPLY

        async with open_memory(settings(tmp_path, table=dynamodb_url(dynamodb_table.table, proxy.endpoint))) as memory:
            await append_some(account, memory, 2)
            proxy.decide(stores_it_and_falls_silent)
            appended = await account.append(memory, CHAT, "writer 2")
            proxy.decide(always(Fate.PASSES))
            again = await append(memory, CHAT, "writer 2")
            await append_some(account, memory, 2)
            await until_delivered(memory)
            await account.settle(memory, pending=appended.pending)
    assert appended.pending
    assert again.turn.id == appended.turn.id


@pytest.mark.parametrize("turns", [pytest.param(40, id="quick"), pytest.param(500, id="full", marks=pytest.mark.slow)])
async def test_a_table_that_loses_every_fourth_request_or_reply_keeps_each_turn_once(
    dynamodb_table: DynamoDbAddress, tmp_path: Path, turns: int
) -> None:
    account = Account()
    async with HttpProxy(dynamodb_table.endpoint) as proxy:
        fates = [*[Fate.PASSES] * 6, Fate.IS_DROPPED, Fate.LOSES_ITS_REPLY]
        chosen = settings(tmp_path, table=dynamodb_url(dynamodb_table.table, proxy.endpoint))
        async with open_memory(chosen) as memory:
            proxy.decide(lambda _: account.chance.choice(fates))
            await append_some(account, memory, turns)
            proxy.decide(always(Fate.PASSES))
            await until_delivered(memory)
        async with open_memory(chosen) as memory:
            await account.settle(memory, met=told(proxy))
    assert proxy.met["PutItem", Fate.LOSES_ITS_REPLY]


@pytest.fixture(params=["sqlite", "redis and dynamodb"])
def chosen(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    if request.param == "sqlite":
        return settings(tmp_path)
    address, redis = request.getfixturevalue("dynamodb_table"), request.getfixturevalue("own_redis")
    return settings(tmp_path, table=dynamodb_url(address.table, address.endpoint), sessions=redis.url)


async def test_200_turns_appended_at_once_are_kept_once_in_order_and_loaded_within_the_budget(
    chosen: Settings,
) -> None:
    account, reads = Account(), Reads()

    async with open_memory(chosen, metrics=reads) as memory:
        talkative = (f"writer{number} " + "word " * 250 for number in range(AT_ONCE))
        appended = await asyncio.gather(*(account.append(memory, CHAT, said) for said in talkative))
        await until_delivered(memory)
        await account.settle(memory, pending=sum(one.pending for one in appended))
        is_cached = "redis" in chosen.sessions
        loaded = await (served_from_cache(memory, reads) if is_cached else memory.conversations.load(CHAT))

    assert len({one.turn.id for one in appended}) == AT_ONCE
    assert loaded.turn_count == AT_ONCE
    assert 1 < len(loaded.turns) <= MAX_TURNS
    assert sum(turn.token_count for turn in loaded.turns) <= TOKEN_BUDGET


async def served_from_cache(memory: Memory, reads: Reads) -> LoadedSession:
    """Return the session as the session cache has it, as soon as that serves it."""
    before, loaded = reads.hits, list[LoadedSession]()

    async def is_served() -> bool:
        loaded.append(await memory.conversations.load(CHAT, view=View.EVERYTHING))
        return reads.hits > before

    await until(is_served, "the cached session is served")
    return loaded[-1]


def told(proxy: HttpProxy) -> dict[str, int]:
    return {f"{operation} {fate.name}": times for (operation, fate), times in sorted(proxy.met.items(), key=str)}
