"""Claims: two processes never both finish a session, and a dead one's claim passes on."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server import Memory, Scope
from mcp_memory_server.domain.kernel.spending import Ceiling, Price, Tokens
from mcp_memory_server.domain.summaries.extracts import extract
from mcp_memory_server.domain.summaries.material import Material
from mcp_memory_server.ports.summarizer import Drafted
from mcp_memory_server.schema.ending_records import ending_from, ending_key
from mcp_memory_server.services.summaries.session_leases import LEASE
from mcp_memory_server.wiring.summaries import ChosenModel, FinalizerOptions
from tests.clock import FakeClock
from tests.engines.servers import RedisServer
from tests.services.summaries.finalizer_stage import finalizing_memory, summaries_stored, talk

pytestmark = pytest.mark.anyio

CHAT = Scope("anna", "chat 1")


class Thinking:
    """A summarizer that takes as long as a test wants."""

    def __init__(self, name: str) -> None:
        self.name = f"thinking/{name}"
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()

    def most_tokens(self, material: Material) -> Tokens:  # noqa: ARG002
        return Tokens()

    async def summarize(self, material: Material) -> Drafted:
        self.began.set()
        await self.may_end.wait()
        return Drafted(extract(material), Tokens())

    async def close(self) -> None:
        pass


@pytest.fixture
def slow() -> Thinking:
    return Thinking("slow")


@pytest.fixture
async def memory(path: Path, clock: FakeClock, slow: Thinking) -> AsyncIterator[Memory]:
    async with finalizing_memory(
        path, clock, options=FinalizerOptions(ChosenModel(slow, Price(0, 0), Ceiling()))
    ) as one:
        await talk(one, CHAT, "Please book a table for two in Lisbon.", "It is booked.")
        await one.conversations.end(CHAT)
        yield one


@pytest.fixture
async def other_process(path: Path, clock: FakeClock) -> AsyncIterator[Memory]:
    async with finalizing_memory(path, clock) as one:
        yield one


async def times(memory: Memory) -> int:
    return ending_from(await memory.table.get(ending_key(CHAT))).times


async def test_while_one_is_at_it_the_other_leaves_the_session_alone(
    memory: Memory, other_process: Memory, slow: Thinking
) -> None:
    at_it = asyncio.create_task(memory.finalizer.finish_due())
    await slow.began.wait()

    assert await other_process.finalizer.finish_due() == 0
    slow.may_end.set()
    await at_it

    (summary,) = await memory.summaries.all(CHAT)
    assert (summary.made_by, await times(memory)) == ("thinking/slow", 1)


async def test_the_claim_of_one_that_died_passes_on(
    memory: Memory, other_process: Memory, slow: Thinking, clock: FakeClock
) -> None:
    died = asyncio.create_task(memory.finalizer.finish_due())
    await slow.began.wait()
    died.cancel()
    await asyncio.gather(died, return_exceptions=True)

    clock.advance(LEASE)
    await other_process.finalizer.finish_due()

    assert (len(await summaries_stored(memory, CHAT)), await times(memory)) == (1, 1)


async def test_the_claim_of_one_that_died_passes_on_although_its_clock_was_an_hour_ahead(
    path: Path, memory: Memory, other_process: Memory, clock: FakeClock
) -> None:
    ahead, thinking = FakeClock(clock() + timedelta(hours=1)), Thinking("ahead")
    model = ChosenModel(thinking, Price(0, 0), Ceiling())
    async with finalizing_memory(path, ahead, options=FinalizerOptions(model)) as one:
        died = asyncio.create_task(one.finalizer.finish_due())
        await thinking.began.wait()
        died.cancel()
        await asyncio.gather(died, return_exceptions=True)
    held = await other_process.finalizer.finish_due()

    clock.advance(LEASE)
    await other_process.finalizer.finish_due()

    assert held == 0
    assert (len(await summaries_stored(memory, CHAT)), await times(memory)) == (1, 1)


async def test_one_that_was_taken_for_dead_writes_nothing_when_it_wakes(
    memory: Memory, other_process: Memory, slow: Thinking, clock: FakeClock
) -> None:
    asleep = asyncio.create_task(memory.finalizer.finish_due())
    await slow.began.wait()
    clock.advance(LEASE)
    await other_process.finalizer.finish_due()

    slow.may_end.set()
    await asleep

    (summary,) = await memory.summaries.all(CHAT)
    assert (summary.made_by, await times(memory)) == ("built-in", 1)


async def test_many_processes_finish_many_sessions_once_each(
    path: Path, clock: FakeClock, shared_redis: RedisServer
) -> None:
    sessions = [Scope(f"user {number % 7}", f"chat {number}") for number in range(40)]
    async with (
        finalizing_memory(path, clock, redis=shared_redis.url) as one,
        finalizing_memory(path, clock, redis=shared_redis.url) as two,
        finalizing_memory(path, clock) as three,
    ):
        for session in sessions:
            await talk(one, session, f"Please book table {session.session_id}.", "It is booked.")
            await one.conversations.end(session)

        await asyncio.gather(*(process.finalizer.finish_due() for process in (one, two, three)))
        clock.advance(timedelta(minutes=5))
        await asyncio.gather(*(process.finalizer.finish_due() for process in (one, two, three)))

        found = [ending_from(await one.table.get(ending_key(session))).times for session in sessions]
        stored = [len(await summaries_stored(one, Scope(f"user {number}"))) for number in range(7)]
        assert (found, sum(stored)) == ([1] * 40, 40)
