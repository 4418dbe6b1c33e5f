"""A fact can end without a replacement: it is kept as history, labelled as past, and not revived."""

from datetime import date, timedelta

import pytest

from mcp_memory_server.domain.facts.fact import Fact, Outcome, Source, Standing, Statement
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import InvalidRequestError, NotFoundError
from mcp_memory_server.memory import Memory
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)
GYM = Statement("Goes to the gym on Mondays", topic="habits", since=date(2025, 1, 1))


async def known(memory: Memory, anna: Scope) -> list[str]:
    return [fact.text for fact in await memory.facts.all(anna)]


async def learned(memory: Memory, anna: Scope, statement: Statement = GYM) -> Fact:
    return (await memory.facts.learn(anna, statement)).fact


async def test_a_fact_that_ends_is_history_until_that_day(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    fact = await learned(memory, anna)
    clock.advance(DAY)

    ended = await memory.facts.end(anna, fact.id)

    assert (ended.standing, ended.until, ended.last_day) == (Standing.PAST, None, clock().date())
    assert await known(memory, anna) == []
    assert await memory.facts.history(anna, "habits") == [ended] == await memory.facts.history_of(anna, fact.id)
    assert await memory.facts.get(anna, fact.id) == ended


async def test_a_fact_may_have_ended_earlier(memory: Memory, anna: Scope) -> None:
    fact = await learned(memory, anna)

    ended = await memory.facts.end(anna, fact.id, date(2025, 12, 31))

    assert (ended.standing, ended.last_day) == (Standing.PAST, date(2025, 12, 31))


async def test_a_fact_that_will_end_holds_until_then(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    fact = await learned(memory, anna)

    ends = await memory.facts.end(anna, fact.id, clock().date() + 10 * DAY)

    assert (ends.standing, ends.last_day) == (Standing.CURRENT, clock().date() + 10 * DAY)
    assert await known(memory, anna) == [GYM.text]
    clock.advance(11 * DAY)
    assert await known(memory, anna) == []


async def test_ending_it_twice_is_harmless_and_may_add_the_day(memory: Memory, anna: Scope) -> None:
    fact = await learned(memory, anna)
    first = await memory.facts.end(anna, fact.id)

    again = await memory.facts.end(anna, fact.id)
    dated = await memory.facts.end(anna, fact.id, date(2025, 12, 31))

    assert again == first
    assert await memory.facts.all(anna, past=True) == [dated]
    assert dated.until == date(2025, 12, 31)


async def test_an_inference_does_not_bring_it_back_and_the_user_does(memory: Memory, anna: Scope) -> None:
    fact = await learned(memory, anna)
    ended = await memory.facts.end(anna, fact.id)

    guess = await memory.facts.learn(anna, Statement(GYM.text, source=Source.INFERRED))
    assert (guess.outcome, guess.fact) == (Outcome.ENDED, ended)
    assert await known(memory, anna) == []

    said = await memory.facts.learn(anna, Statement(GYM.text, topic="habits"))
    assert said.outcome is Outcome.LEARNED
    assert await known(memory, anna) == [GYM.text]
    assert [one.standing for one in await memory.facts.history(anna, "habits")] == [Standing.PAST, Standing.CURRENT]


async def test_it_may_end_and_begin_again_many_times(memory: Memory, anna: Scope) -> None:
    # All at the same moment of the clock.
    ended = [await memory.facts.end(anna, (await learned(memory, anna)).id) for _ in range(3)]

    assert len(await memory.facts.history(anna, "habits")) == 3
    assert (await memory.erasure.forget(anna, ended[0].id)).removed == 3


async def test_a_fact_does_not_end_before_it_began(memory: Memory, anna: Scope) -> None:
    fact = await learned(memory, anna)

    with pytest.raises(InvalidRequestError, match="until must not be before since"):
        await memory.facts.end(anna, fact.id, date(2024, 12, 31))

    assert await known(memory, anna) == [GYM.text]


async def test_an_unknown_fact_cannot_be_ended(memory: Memory, anna: Scope) -> None:
    fact = await learned(memory, anna)

    with pytest.raises(NotFoundError, match="`recall` shows the ids"):
        await memory.facts.end(Scope("ben"), fact.id)


async def test_an_ended_candidate_becomes_history_too(memory: Memory, anna: Scope) -> None:
    await learned(memory, anna, Statement("Ana lives in Bern", topic="city"))
    guess = await learned(memory, anna, Statement("Ana lives in Rome", topic="city", source=Source.INFERRED))

    await memory.facts.end(anna, guess.id)

    assert await known(memory, anna) == ["Ana lives in Bern"]
    assert len(await memory.facts.all(anna, past=True)) == 2
