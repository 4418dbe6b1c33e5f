"""Rolling summaries: what made way in a long session is told with the turns that are at hand."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_memory_server import Memory, NewTurn, Role, Scope
from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from mcp_memory_server.domain.recall.replies.answers import reply_text
from mcp_memory_server.domain.sessions.limits import MAX_TURNS
from mcp_memory_server.services.summaries.rolling_summaries import LONGEST_SUMMARY
from tests.clock import FakeClock
from tests.services.summaries.finalizer_stage import finalizing_memory
from tests.services.turns import Faults

pytestmark = pytest.mark.anyio

CHAT = Scope("anna", "chat 1")
FIRST = "My daughter Mira is allergic to walnuts, please keep that in mind for every recipe."


async def speak(memory: Memory, count: int) -> None:
    for number in range(count):
        role = Role.USER if number % 2 == 0 else Role.ASSISTANT
        await memory.conversations.append(CHAT, NewTurn(role, f"Step {number} of the cake concerns bowl {number}."))


@pytest.fixture(params=[True, False], ids=["cached", "from the table"])
async def memory(request: pytest.FixtureRequest, path: Path, clock: FakeClock) -> AsyncIterator[Memory]:
    redis = request.getfixturevalue("shared_redis").url if request.param else None
    async with finalizing_memory(path, clock, redis=redis) as one:
        yield one


async def test_what_made_way_is_in_the_summary_that_comes_with_the_session(memory: Memory) -> None:
    await memory.conversations.append(CHAT, NewTurn(Role.SYSTEM, "Be brief."))
    await memory.conversations.append(CHAT, NewTurn(Role.USER, FIRST, importance=0.3))
    await speak(memory, 2 * MAX_TURNS)
    at_hand = (await memory.conversations.load(CHAT)).turns

    await memory.finalizer.roll([CHAT])

    loaded = await memory.conversations.load(CHAT)
    assert all("walnuts" not in turn.content for turn in at_hand)
    assert loaded.summary is not None
    assert "walnuts" in loaded.summary
    assert (await memory.conversations.load(CHAT, turns=5)).summary == loaded.summary


async def test_a_session_of_which_nothing_made_way_has_none(memory: Memory) -> None:
    await speak(memory, 6)

    await memory.finalizer.roll([CHAT])

    assert (await memory.conversations.load(CHAT)).summary is None


async def test_rolling_on_keeps_the_beginning_and_stays_short(memory: Memory) -> None:
    await memory.conversations.append(CHAT, NewTurn(Role.USER, FIRST, importance=0.3))
    for _ in range(8):
        await speak(memory, 30)
        await memory.finalizer.roll([CHAT])

    loaded = await memory.conversations.load(CHAT)
    assert loaded.summary is not None
    assert "walnuts" in loaded.summary
    assert len(loaded.summary) <= LONGEST_SUMMARY


async def test_rolling_again_reads_nothing_twice_and_changes_nothing(memory: Memory) -> None:
    await speak(memory, 50)
    await memory.finalizer.roll([CHAT])
    first = (await memory.conversations.load(CHAT)).summary

    await memory.finalizer.roll([CHAT])

    assert (await memory.conversations.load(CHAT)).summary == first


async def test_it_is_read_with_the_one_query_of_the_session(path: Path, clock: FakeClock) -> None:
    watched: list[Faults] = []

    def wrap(table: object) -> object:
        watched.append(Faults(table))  # pyright: ignore[reportArgumentType]
        return watched[-1].as_table

    async with finalizing_memory(path, clock, wrap=wrap) as memory:  # pyright: ignore[reportArgumentType]
        await speak(memory, 50)
        await memory.finalizer.roll([CHAT])
        watched[0].calls.clear()

        loaded = await memory.conversations.load(CHAT)

        assert (loaded.summary is not None, watched[0].calls) == (True, {"query": 1})


@pytest.mark.parametrize("budget", [200, 600, 2000])
async def test_a_page_has_room_for_the_summary_and_for_the_last_turns(memory: Memory, budget: int) -> None:
    await memory.conversations.append(CHAT, NewTurn(Role.USER, FIRST, importance=0.3))
    for _ in range(4):
        await speak(memory, 30)
        await memory.finalizer.roll([CHAT])

    page = await memory.context.load(CHAT, max_tokens=budget)

    assert "- earlier: The user: My daughter Mira" in page.text
    assert page.text.endswith("bowl 29.")
    assert count_tokens(reply_text(page.to_reply())) <= budget
