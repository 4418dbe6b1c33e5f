"""The page that a conversation starts with, on a real file."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.answers import Status, reply_text
from mcp_memory_server.domain.facts import Permanence, Source, Statement
from mcp_memory_server.domain.notes import NoteKind
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.memory import Memory
from mcp_memory_server.wiring import count_tokens, running
from tests.clock import FakeClock
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio


async def test_it_tells_what_is_worth_knowing(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Ana lives in Bern", topic="city"))
    await memory.facts.learn(anna, Statement("Ana lives in Rome", topic="city", source=Source.INFERRED))
    await memory.preferences.set(anna, "tone", "brief")
    await memory.notes.add(anna, NoteKind.FEEDBACK, "too long")

    page = await memory.context.load(anna)

    assert (page.status, page.more) == (Status.COMPLETE, 0)
    assert page.text.split("\n\n")[1:] == [
        "## Preferences\n- tone: brief",
        "## Facts\n- Ana lives in Bern (city, since 2026-03-01)",
        "## Unconfirmed\n- Ana lives in Rome (city, since 2026-03-01)",
        "## Feedback\n- too long (since 2026-03-01)",
    ]


async def test_nothing_of_anyone_else_is_in_it(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(Scope("ben"), Statement("Has a cat"))

    assert (await memory.context.load(anna)).text.endswith("Nothing is known yet.")


async def test_what_has_expired_within_the_hour_is_not_in_it(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    until = clock() + timedelta(days=8, minutes=1)
    await memory.facts.learn(anna, Statement("In Rome", permanence=Permanence.TRANSIENT, expires_at=until))
    clock.advance(timedelta(days=8))
    before = (await memory.context.load(anna)).text

    clock.advance(timedelta(minutes=1))

    assert "In Rome" in before
    assert "In Rome" not in (await memory.context.load(anna)).text


async def test_what_another_process_wrote_is_in_it(memory: Memory, other_process: Memory, anna: Scope) -> None:
    await memory.context.load(anna)

    await other_process.preferences.set(anna, "tone", "brief")

    assert "- tone: brief" in (await memory.context.load(anna)).text


async def test_it_costs_one_small_read_when_nothing_has_changed(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    await memory.facts.learn(anna, Statement("Has a cat"))
    watched = WatchedTable(memory.table)
    async with running(watched.as_table, now=clock) as again:
        await again.context.load(anna)
        watched.calls.clear()
        await again.context.load(anna)

    assert watched.calls == {"get": 1}


@pytest.mark.parametrize("max_tokens", [50, 120, 600])
async def test_it_keeps_its_budget_with_preferences_first(memory: Memory, anna: Scope, max_tokens: int) -> None:
    for number in range(40):
        await memory.facts.learn(anna, Statement(f"Cat number {number} is called Mimi"))
    await memory.preferences.set(anna, "tone", "brief")

    page = await memory.context.load(anna, max_tokens=max_tokens)

    assert count_tokens(reply_text(page.to_reply())) <= max_tokens
    assert "- tone: brief" in page.text
    assert page.more > 0


async def test_a_budget_that_nobody_has_is_refused(memory: Memory, anna: Scope) -> None:
    with pytest.raises(InvalidRequestError, match="max_tokens"):
        await memory.context.load(anna, max_tokens=49)
