"""A server that is told to stop delivers what it acknowledged, and what it cannot deliver in time is not lost."""

import asyncio
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_memory_server import Settings, open_memory
from mcp_memory_server.server.transports import GRACE_SECONDS
from mcp_memory_server.services.sessions.outbox_worker import DRAIN_SECONDS
from tests.cli.commands import COMMAND, environment
from tests.engines.http_proxy import Fate, HttpProxy, always, for_writes
from tests.faults.conversations import CHAT, Account, dynamodb_url, environment_of, settings, until_delivered
from tests.faults.outboxes import waiting_in
from tests.server.processes import STOP_SECONDS, Served
from tests.server.raw_http import RawClient
from tests.stores.tables import DynamoDbAddress

pytestmark = pytest.mark.anyio

TURNS = 20
SLACK = 10.0
AT_ONCE = 3.0
"""Seconds. A write that hangs is given up after five, and all of the delivery after ten."""


@contextmanager
def serving(chosen: Settings) -> Iterator[Served]:
    """Serve the tools of conversations over HTTP, until the test or the end stops it."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--http", "--no-auth", "--port", "0", "--tools", "conversation"],
        env=environment(**environment_of(chosen)),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    with process, process.stderr:
        try:
            said = process.stderr.readline()
            address = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", said)
            assert address, said + process.stderr.read()
            yield Served(process, int(address[1]), said)
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            finally:
                process.kill()


def append_all(served: Served, account: Account) -> None:
    client = RawClient(served.port)
    for number in range(TURNS):
        content = f"turn {number}"
        answer = client.call("append_turn", session_id=CHAT.session_id, role="user", content=content)
        assert answer["pending"]
        account.note(CHAT, content)


async def ended(served: Served) -> float:
    """Wait until the server ends, and return how many seconds that took."""
    began = time.monotonic()
    await asyncio.to_thread(served.process.wait, GRACE_SECONDS + DRAIN_SECONDS + SLACK)
    return time.monotonic() - began


async def test_told_to_stop_it_delivers_what_waits_and_ends_well(
    dynamodb_table: DynamoDbAddress, tmp_path: Path
) -> None:
    account = Account()
    async with HttpProxy(dynamodb_table.endpoint) as proxy:
        chosen = through(proxy, dynamodb_table, tmp_path)
        with serving(chosen) as served:
            proxy.decide(for_writes(Fate.IS_SLOW))
            await asyncio.to_thread(append_all, served, account)
            waited = await waiting_in(tmp_path)
            served.process.send_signal(signal.SIGTERM)
            seconds = await ended(served)

        async with open_memory(chosen) as memory:
            left = (await memory.redrive.waiting()).turns
            await account.settle(memory, waited=waited, left=left, seconds=round(seconds, 1))
    assert served.process.returncode == 0
    assert waited > 0
    assert left == 0


@pytest.mark.slow
async def test_told_to_stop_while_the_table_is_silent_it_ends_in_time_and_the_next_one_delivers(
    dynamodb_table: DynamoDbAddress, tmp_path: Path
) -> None:
    account = Account()
    async with HttpProxy(dynamodb_table.endpoint) as proxy:
        chosen = through(proxy, dynamodb_table, tmp_path)
        with serving(chosen) as served:
            proxy.decide(for_writes(Fate.HANGS))
            await asyncio.to_thread(append_all, served, account)
            served.process.send_signal(signal.SIGTERM)
            seconds = await ended(served)
        proxy.decide(always(Fate.PASSES))

        async with open_memory(chosen) as memory:
            left = (await memory.redrive.waiting()).turns
            await until_delivered(memory)
            await account.settle(memory, left=left, seconds=round(seconds, 1))
    assert served.process.returncode == 0
    assert left == TURNS
    assert seconds < GRACE_SECONDS + DRAIN_SECONDS + SLACK


async def test_told_twice_to_stop_it_ends_at_once_and_the_next_one_delivers(
    dynamodb_table: DynamoDbAddress, tmp_path: Path
) -> None:
    account = Account()
    async with HttpProxy(dynamodb_table.endpoint) as proxy:
        chosen = through(proxy, dynamodb_table, tmp_path)
        with serving(chosen) as served:
            proxy.decide(for_writes(Fate.HANGS))
            await asyncio.to_thread(append_all, served, account)
            served.process.send_signal(signal.SIGTERM)
            await drains(served)
            served.process.send_signal(signal.SIGTERM)
            seconds = await ended(served)
        proxy.decide(always(Fate.PASSES))

        async with open_memory(chosen) as memory:
            await until_delivered(memory)
            await account.settle(memory, seconds=round(seconds, 1))
    assert seconds < AT_ONCE


async def drains(served: Served) -> None:
    """Wait until the server no longer listens: from then on it only delivers."""
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", served.port)
        except OSError:
            return
        writer.close()
        await asyncio.sleep(0.02)  # until another program is so far


def through(proxy: HttpProxy, table: DynamoDbAddress, folder: Path) -> Settings:
    return settings(folder, table=dynamodb_url(table.table, proxy.endpoint), sessions="none", acknowledge="outbox")
