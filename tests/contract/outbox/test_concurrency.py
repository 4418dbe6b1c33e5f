"""Many processes, threads and event loops share an outbox, and any of them may be killed."""

import asyncio
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.ports.outbox import Outbox
from tests.clock import FakeClock
from tests.stores.outboxes import ANA, OutboxStore, add_all, claim, queued, receipts

pytestmark = pytest.mark.anyio

WRITERS = 4
TURNS = 100
ACKNOWLEDGED_BEFORE_THE_KILL = 25


async def test_turns_added_from_several_outboxes_and_event_loops_are_all_kept_in_the_order_of_each(
    outbox_store: OutboxStore, clock: FakeClock
) -> None:
    outboxes = [outbox_store.open(clock) for _ in range(2)] * 2

    async def write(number: int) -> None:
        for turn in range(TURNS):
            await outboxes[number].add(queued(f"{turn}", Scope("ana", f"{turn % 2}"), operation=f"{number}-{turn}"))

    with ThreadPoolExecutor(WRITERS) as threads:
        running = [threads.submit(asyncio.run, write(number)) for number in range(WRITERS)]
        for one in running:
            await asyncio.wrap_future(one)

    assert (await outboxes[0].length()).turns == WRITERS * TURNS
    for session in ("0", "1"):
        waiting = [one.operation_id.split("-") for one in await outboxes[0].waiting(Scope("ana", session))]
        for number in range(WRITERS):
            mine = [int(turn) for writer, turn in waiting if writer == str(number)]
            assert mine == list(range(int(session), TURNS, 2))
    for outbox in outboxes:
        await outbox.close()


async def test_one_operation_added_by_many_at_once_is_queued_once(outbox: Outbox, other_outbox: Outbox) -> None:
    await asyncio.gather(*(one.add(queued(operation="once")) for one in (outbox, other_outbox) * 10))

    assert len(await outbox.waiting(ANA)) == 1


async def test_owners_that_claim_at_once_share_the_sessions_and_leave_nothing(
    outbox: Outbox, other_outbox: Outbox
) -> None:
    for session in range(20):
        await add_all(outbox, Scope("ana", f"{session}"), *"abcde")
    delivered: dict[str, list[tuple[str, str]]] = {}

    async def deliver(client: Outbox, owner: str) -> None:
        while claimed := await claim(client, owner, most=7):
            for one in claimed:
                delivered.setdefault(one.queued.scope.session_id or "", []).append((owner, one.queued.turn.content))
            await client.remove(owner, receipts(claimed))

    await asyncio.gather(*(deliver(one, owner) for one, owner in ((outbox, "one"), (other_outbox, "two"))))

    assert (await outbox.length()).turns == 0
    assert sorted(delivered) == sorted(str(session) for session in range(20))
    assert all([content for _, content in turns] == list("abcde") for turns in delivered.values())


def test_a_process_that_is_killed_loses_nothing_that_it_acknowledged(outbox_store: OutboxStore) -> None:
    spawn = multiprocessing.get_context("spawn")
    reading, writing = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_add_for_ever, args=(outbox_store, writing))
    process.start()
    writing.close()

    acknowledged = [reading.recv() for _ in range(ACKNOWLEDGED_BEFORE_THE_KILL)]
    process.kill()
    acknowledged += _rest_of(reading)
    process.join()

    kept = asyncio.run(_kept(outbox_store))
    assert len(acknowledged) >= ACKNOWLEDGED_BEFORE_THE_KILL
    assert kept[: len(acknowledged)] == acknowledged
    assert len(kept) <= len(acknowledged) + 1


def _add_for_ever(store: OutboxStore, told: Connection) -> None:
    asyncio.run(_add_and_tell(store, told))


async def _add_and_tell(store: OutboxStore, told: Connection) -> None:
    outbox = store.open(FakeClock())
    number = 0
    while True:
        await outbox.add(queued("x" * 2000, operation=f"{number}"))
        told.send(f"{number}")
        number += 1


def _rest_of(reading: Connection) -> list[str]:
    rest: list[str] = []
    try:
        while True:
            rest.append(reading.recv())
    except EOFError:
        return rest


async def _kept(store: OutboxStore) -> list[str]:
    outbox = store.open(FakeClock())
    kept = [one.operation_id for one in await outbox.waiting(ANA)]
    await outbox.close()
    return kept
