"""Folding: sessions into weeks, weeks into months and the profile; again and again, and interrupted anywhere."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server import Memory, Scope
from mcp_memory_server.domain.summaries.summary import Level
from mcp_memory_server.errors import TableUnavailableError
from mcp_memory_server.ports.item_table import ItemTable
from tests.clock import FakeClock
from tests.services.summaries.finalizer_stage import finalizing_memory, summaries_stored, talk
from tests.services.turns import Faults

pytestmark = pytest.mark.anyio

ANNA = Scope("anna")
DAY = timedelta(days=1)


@pytest.fixture
async def memory(path: Path, clock: FakeClock) -> AsyncIterator[Memory]:
    async with finalizing_memory(path, clock) as one:
        yield one


async def hold_sessions(memory: Memory, clock: FakeClock, days: int, *, first: int = 0) -> None:
    """Hold a session a day, with a matter of its own."""
    for number in range(first, first + days):
        session = Scope("anna", f"chat {number}")
        await talk(memory, session, f"Please order {number} boxes of tulips.", f"Order {number} is placed.")
        await memory.conversations.end(session)
        await memory.finalizer.finish_due()
        clock.advance(DAY)


async def levels(memory: Memory) -> dict[str, int]:
    kept = await memory.summaries.all(ANNA)
    return {level.value: count for level in Level if (count := sum(one.level is level for one in kept))}


async def sessions_told(memory: Memory) -> int:
    """Return how many sessions are told of, once each: the profile repeats what months tell."""
    kept = await memory.summaries.all(ANNA)
    return sum(one.session_count for one in kept if one.level is not Level.PROFILE)


async def test_the_last_week_is_told_session_by_session(memory: Memory, clock: FakeClock) -> None:
    await hold_sessions(memory, clock, 7)

    await memory.finalizer.fold_due()

    assert await levels(memory) == {"session": 7}


async def test_what_is_older_is_told_by_week_and_then_by_month(memory: Memory, clock: FakeClock) -> None:
    await hold_sessions(memory, clock, 60)

    await memory.finalizer.fold_due()

    found = await levels(memory)
    assert found["session"] in (7, 8)
    assert found["week"] in (3, 4, 5)
    assert found["month"] in (1, 2)
    assert found["profile"] == 1
    assert await sessions_told(memory) == 60


async def test_after_ninety_days_only_the_profile_is_left(memory: Memory, clock: FakeClock) -> None:
    await hold_sessions(memory, clock, 20)
    for _ in range(120):
        await memory.finalizer.fold_due()
        clock.advance(DAY)

    (profile,) = await memory.summaries.all(ANNA)

    page = await memory.context.load(Scope("anna", "new"))
    assert (profile.level, profile.session_count) == (Level.PROFILE, 20)
    assert "- since 2026-03: 20 conversations, mostly about boxes, tulips" in page.text


async def test_folding_again_changes_nothing(memory: Memory, clock: FakeClock) -> None:
    await hold_sessions(memory, clock, 50)
    await memory.finalizer.fold_due()
    before = [(item.key, item.version) for item in await summaries_stored(memory, ANNA)]

    again = await memory.finalizer.fold_due()

    assert again.summaries == 0
    assert [(item.key, item.version) for item in await summaries_stored(memory, ANNA)] == before


async def test_folding_every_day_tells_as_much_as_folding_once(path: Path, clock: FakeClock, tmp_path: Path) -> None:
    told = []
    for name, daily in (("daily", True), ("once", False)):
        own = FakeClock()
        async with finalizing_memory(tmp_path / name / "memory.db", own) as memory:
            for number in range(45):
                await hold_sessions(memory, own, 1, first=number)
                if daily:
                    await memory.finalizer.fold_due()
            await memory.finalizer.fold_due()
            told.append(await summaries_stored(memory, ANNA))

    counted = [[(item.key, item.body["session_count"], item.body["turn_count"]) for item in items] for items in told]
    assert counted[0] == counted[1]


@pytest.mark.parametrize("lost", ["instead", "after"])
async def test_an_interruption_anywhere_loses_nothing_and_counts_nothing_twice(
    path: Path, clock: FakeClock, lost: str
) -> None:
    faults: list[Faults] = []

    def wrapped(table: ItemTable) -> ItemTable:
        faults.append(Faults(table))
        return faults[-1].as_table

    async with finalizing_memory(path, clock, wrap=wrapped) as memory:
        await hold_sessions(memory, clock, 45)
        for _ in range(30):
            getattr(faults[0], lost)["write"] = TableUnavailableError("gone")
            try:
                await memory.finalizer.fold_due()
            except TableUnavailableError:
                continue
            break
        getattr(faults[0], lost).clear()
        await memory.finalizer.fold_due()

        assert await sessions_told(memory) == 45


async def test_a_session_that_goes_on_after_it_was_folded_is_told_of_its_new_turns(
    memory: Memory, clock: FakeClock
) -> None:
    chat = Scope("anna", "chat 0")
    await hold_sessions(memory, clock, 1)
    clock.advance(20 * DAY)
    await memory.finalizer.fold_due()

    await talk(memory, chat, "Please cancel the roses.", "They are cancelled.")
    await memory.conversations.end(chat)
    await memory.finalizer.finish_due()

    week, session = await memory.summaries.all(ANNA)
    assert (week.level, session.level, session.turn_count) == (Level.WEEK, Level.SESSION, 2)
    assert "tulips" not in session.text
