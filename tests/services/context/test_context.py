"""Context pages from a real file."""

import re
from datetime import timedelta
from itertools import accumulate

import pytest

from mcp_memory_server import ContextPage
from mcp_memory_server.domain.facts.fact import Permanence, Source, Statement
from mcp_memory_server.domain.facts.notes import NoteKind
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.recall.replies.answers import reply_text
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.memory import Memory
from mcp_memory_server.wiring import count_tokens, running
from tests.clock import FakeClock
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio


def sections(page: ContextPage) -> list[str]:
    """Return the sections of a page, without the ids of what is told in them."""
    return [re.sub(r" \[\w+\]", "", section) for section in page.text.split("\n\n")[1:]]


async def pages(memory: Memory, owner: Scope, max_tokens: int) -> list[ContextPage]:
    found = [await memory.context.load(owner, max_tokens=max_tokens)]
    while found[-1].cursor is not None:
        found.append(await memory.context.load(owner, max_tokens=max_tokens, cursor=found[-1].cursor))
    return found


async def test_the_page_contains_what_is_worth_knowing(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Ana lives in Bern", topic="city"))
    await memory.facts.learn(anna, Statement("Ana lives in Rome", topic="city", source=Source.INFERRED))
    await memory.preferences.set(anna, "tone", "brief")
    await memory.notes.add(anna, NoteKind.FEEDBACK, "too long")

    page = await memory.context.load(anna)

    assert (page.status, page.more, page.cursor) == (Status.COMPLETE, 0, None)
    assert sections(page) == [
        "## The user\n- Ana lives in Bern (city)",
        "## Preferences\n- tone: brief",
        "## Unconfirmed\n- Ana lives in Rome (city)",
        "## Feedback\n- too long",
        "Topics in use: city",
    ]


async def test_the_page_begins_with_who_the_user_is_and_dangers_to_health(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    for number in range(12):
        await memory.facts.learn(anna, Statement(f"Read novel number {number}"))
    for text, topic in (
        ("Anna is allergic to wasp stings.", None),
        ("Short answers without lists", "assistant/style"),
        ("Globex, as a welder", "work/employer"),
        ("Anna lives in Ghent.", None),
        ("The user's name is Anna Peeters.", None),
        ("Anna is married to Jo.", None),
    ):
        await memory.facts.learn(anna, Statement(text, topic=topic))
    await memory.preferences.set(anna, "tone", "brief")
    clock.advance(timedelta(days=1))

    assert sections(await memory.context.load(anna, max_tokens=200))[:3] == [
        (
            "## The user\n"
            "- The user's name is Anna Peeters.\n- Anna lives in Ghent.\n"
            "- Globex, as a welder (work/employer)\n- Anna is married to Jo."
        ),
        "## Health and diet\n- Anna is allergic to wasp stings.",
        "## Preferences\n- tone: brief\n- Short answers without lists (assistant/style)",
    ]


async def test_dates_of_the_next_weeks_and_reminders_come_up(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    today = clock().date()
    for statement in (
        Statement("The exam is on 2026-03-20."),
        Statement("Renew the passport", remind_on=today + timedelta(days=1)),
        Statement("Jo is in Rome", until=today + timedelta(days=9)),
        Statement("The wedding is on 2026-09-20."),
    ):
        await memory.facts.learn(anna, statement)
    await memory.facts.learn(anna, Statement("Has a cat"))

    before = sections(await memory.context.load(anna))[0]
    clock.advance(timedelta(days=2))
    after = sections(await memory.context.load(anna))[0]

    assert before.splitlines() == [
        "## Upcoming",
        "- Renew the passport (reminder: 2026-03-02, tomorrow)",
        "- Jo is in Rome (until 2026-03-10, in 9 days)",
        "- The exam is on 2026-03-20. (2026-03-20, in 19 days)",
    ]
    assert after.splitlines()[1] == "- Renew the passport (reminder: due since yesterday)"


async def test_no_past_fact_is_shown_as_current(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    await memory.facts.learn(anna, Statement("The concert is on 2026-03-03."))
    await memory.facts.learn(anna, Statement("Anna works at Acme", topic="work/employer"))
    await memory.facts.learn(anna, Statement("Jo is in Rome", until=clock().date()))
    clock.advance(timedelta(days=3))
    await memory.facts.learn(anna, Statement("Anna works at Globex", topic="work/employer"))
    clock.advance(timedelta(days=30))
    await memory.facts.learn(anna, Statement("Has a cat"))

    text = "\n".join(page.text for page in await pages(memory, anna, 100))

    assert "Globex" in text
    assert not any(gone in text for gone in ("concert", "Acme", "Rome"))


async def test_the_last_saved_fact_is_shown_with_the_value_it_superseded(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    yoga = await memory.facts.learn(anna, Statement("Does yoga on Mondays"))
    tea = await memory.facts.learn(anna, Statement("Drinks tea for breakfast"))
    await memory.facts.learn(anna, Statement("Plays chess"))
    clock.advance(timedelta(days=3))
    await memory.facts.learn(anna, Statement("Drinks cocoa for breakfast"), replaces=tea.fact.id)
    await memory.facts.end(anna, yoga.fact.id)
    clock.advance(timedelta(days=1))

    assert sections(await memory.context.load(anna)) == [
        (
            "## Saved last\n- Does yoga on Mondays (no longer true)\n"
            "- Drinks cocoa for breakfast (before: Drinks tea for breakfast)"
        ),
        "## Facts\n- Plays chess",
    ]


async def test_pages_continue_until_everything_was_returned_once(memory: Memory, anna: Scope) -> None:
    for number in range(60):
        await memory.facts.learn(
            anna, Statement(f"Anna repaired bicycle number {number}", topic=f"bicycles/{number % 7}")
        )
    await memory.preferences.set(anna, "tone", "brief")

    found = await pages(memory, anna, 250)

    lines = [line for page in found for line in page.text.splitlines() if line.startswith("- ")]
    told = [sum(line.startswith("- ") for line in page.text.splitlines()) for page in found]
    assert len(lines) == len(set(lines)) == 61
    assert [page.more for page in found] == [61 - done for done in accumulate(told)]
    assert "(continued)" in found[1].text


async def test_the_ids_of_a_page_are_those_that_other_calls_take(memory: Memory, anna: Scope) -> None:
    for text in ("Has a cat", "Has a dog", "Has a horse"):
        await memory.facts.learn(anna, Statement(text))
    ids = dict(re.findall(r"- (.*) \[(\w+)\]", (await memory.context.load(anna)).text))

    await memory.erasure.forget(anna, ids["Has a cat"])
    await memory.facts.learn(anna, Statement("Has two dogs"), replaces=ids["Has a dog"])
    await memory.facts.end(anna, ids["Has a horse"])

    assert [fact.text for fact in await memory.facts.all(anna)] == ["Has two dogs"]


async def test_a_cursor_of_somebody_else_is_refused(memory: Memory, anna: Scope) -> None:
    with pytest.raises(InvalidRequestError, match="load_context"):
        await memory.context.load(anna, cursor="here")


async def test_the_page_contains_nothing_of_other_users(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(Scope("ben"), Statement("Has a cat"))

    assert (await memory.context.load(anna)).text.endswith("Nothing is known yet.")


async def test_a_memory_that_expired_within_the_hour_is_not_on_the_page(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    until = clock() + timedelta(days=8, minutes=1)
    await memory.facts.learn(anna, Statement("In Rome", permanence=Permanence.TRANSIENT, expires_at=until))
    clock.advance(timedelta(days=8))
    before = (await memory.context.load(anna)).text

    clock.advance(timedelta(minutes=1))

    assert "In Rome" in before
    assert "In Rome" not in (await memory.context.load(anna)).text


async def test_a_write_of_another_process_is_on_the_page(memory: Memory, other_process: Memory, anna: Scope) -> None:
    await memory.context.load(anna)

    await other_process.preferences.set(anna, "tone", "brief")

    assert "- tone: brief" in (await memory.context.load(anna)).text


async def test_an_unchanged_page_costs_one_small_read(memory: Memory, anna: Scope, clock: FakeClock) -> None:
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


async def test_an_unreasonable_budget_is_refused(memory: Memory, anna: Scope) -> None:
    with pytest.raises(InvalidRequestError, match="max_tokens"):
        await memory.context.load(anna, max_tokens=49)
