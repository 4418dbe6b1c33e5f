"""Resuming a conversation: the newest turns as they were said, and the rest in short."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server import InvalidRequestError, Memory, NewTurn, Role, Scope, Statement, Status
from mcp_memory_server.services.summaries.rolling_summaries import LONGEST_SUMMARY
from tests.clock import FakeClock
from tests.services.summaries.finalizer_stage import finalizing_memory

pytestmark = pytest.mark.anyio

CHAT = Scope("anna", "chat 1")
EXCHANGES = 41


@pytest.fixture
async def memory(path: Path, clock: FakeClock) -> AsyncIterator[Memory]:
    async with finalizing_memory(path, clock) as one:
        yield one


def question(number: int) -> str:
    return f"Which of the two recipes for cake number {number} would you bake, and why?"


async def converse(memory: Memory, stated: dict[int, str], exchanges: int = EXCHANGES) -> None:
    for number in range(1, exchanges + 1):
        said = stated.get(number, question(number))
        await memory.conversations.append(CHAT, NewTurn(Role.USER, said))
        await memory.conversations.append(
            CHAT, NewTurn(Role.ASSISTANT, f"I would bake recipe {number}, it is lighter.")
        )


@pytest.mark.parametrize("at", [1, 2, 7, 15, 22, 30, 40, 41])
async def test_what_the_user_stated_is_known_wherever_in_a_long_conversation_it_was(memory: Memory, at: int) -> None:
    await converse(memory, {at: "My locker at the station has the number 4711."})

    resumed = await memory.resumption.load(CHAT)

    assert "4711" in f"{resumed.summary} {[turn.content for turn in resumed.turns]}"


async def test_the_newest_turns_are_as_they_were_said_and_those_before_are_in_the_summary(memory: Memory) -> None:
    await converse(memory, {1: "My locker has the number 4711."})

    resumed = await memory.resumption.load(CHAT, turns=4)

    assert [turn.content for turn in resumed.turns][::2] == [question(40), question(41)]
    assert (resumed.status, resumed.turn_count) == (Status.COMPLETE, 2 * EXCHANGES)
    assert resumed.summary is not None
    assert resumed.summary.startswith("The user: My locker has the number 4711.")
    assert len(resumed.summary) <= LONGEST_SUMMARY


async def test_a_short_conversation_has_no_summary(memory: Memory) -> None:
    await converse(memory, {}, exchanges=3)

    resumed = await memory.resumption.load(CHAT)

    assert (len(resumed.turns), resumed.summary) == (6, None)


async def test_turns_that_do_not_fit_the_budget_are_in_the_summary(memory: Memory) -> None:
    await converse(memory, {1: "My locker has the number 4711."}, exchanges=5)

    resumed = await memory.resumption.load(CHAT, max_tokens=60)

    assert 0 < len(resumed.turns) < 4
    assert "4711" in str(resumed.summary)


async def test_what_a_stored_summary_lacks_is_added(memory: Memory) -> None:
    await converse(memory, {2: "My locker has the number 4711."}, exchanges=15)
    await memory.finalizer.roll([CHAT])
    await converse(memory, {2: "My desk has the number 8222."}, exchanges=15)

    resumed = await memory.resumption.load(CHAT, turns=2)

    assert all(number in str(resumed.summary) for number in ("4711", "8222"))


async def test_turns_of_tools_are_left_out(memory: Memory) -> None:
    await converse(memory, {}, exchanges=1)
    await memory.conversations.append(CHAT, NewTurn(Role.TOOL, "a page of text"))

    assert [turn.role for turn in (await memory.resumption.load(CHAT)).turns] == [Role.USER, Role.ASSISTANT]


@pytest.mark.parametrize("turns", [4, 40])
async def test_what_was_forgotten_is_left_out(memory: Memory, clock: FakeClock, turns: int) -> None:
    await converse(memory, {2: "My locker has the number 4711.", 3: "My desk has the number 8222."}, exchanges=8)
    await memory.finalizer.roll([CHAT])
    fact = (await memory.facts.learn(CHAT, Statement("Anna's locker has the number 4711."))).fact
    clock.advance(timedelta(minutes=1))

    await memory.erasure.forget(CHAT, fact.id)

    resumed = await memory.resumption.load(CHAT, turns=turns)
    assert "4711" not in str(resumed)
    assert len(resumed.turns) == min(turns, 16)


async def test_a_session_without_turns_has_nothing_to_resume(memory: Memory) -> None:
    resumed = await memory.resumption.load(CHAT)

    assert (resumed.status, resumed.turns, resumed.summary) == (Status.COMPLETE, (), None)


@pytest.mark.parametrize("turns", [0, 201])
async def test_a_number_of_turns_that_makes_no_sense_is_refused(memory: Memory, turns: int) -> None:
    with pytest.raises(InvalidRequestError, match="1 to 200"):
        await memory.resumption.load(CHAT, turns=turns)
