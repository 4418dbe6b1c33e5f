"""A scope may read more memories than the user's own: an agent's, a project's, a team's, shared knowledge."""

from pathlib import Path

import pytest

from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.kernel.scope import Owner, Owners, Scope
from mcp_memory_server.domain.recall.replies.answers import Recalled
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.errors import NotFoundError
from mcp_memory_server.memory import Memory
from mcp_memory_server.wiring import running
from tests.clock import FakeClock
from tests.services.conftest import OpenTable
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio

PROJECT = Owners(project="acme/web")


def told(found: Recalled) -> list[tuple[str, str | None]]:
    return [(memory.text, memory.owner) for memory in found.memories]


async def learn(memory: Memory, scope: Scope, *texts: str) -> None:
    for text in texts:
        await memory.facts.learn(scope, Statement(text))


async def test_one_ranking_holds_the_memories_of_the_user_and_of_the_project(memory: Memory, anna: Scope) -> None:
    await learn(memory, anna, "Anna deploys on Fridays only when somebody is on call", "Anna has a cat")
    await learn(memory, anna.only(Owner.project("anna", "acme/web")), "The web shop is deployed with Helm to Frankfurt")

    found = await memory.recall.search(PROJECT.scope("anna"), "How is the web shop deployed?")

    assert told(found)[0] == ("The web shop is deployed with Helm to Frankfurt", "project")
    assert ("Anna deploys on Fridays only when somebody is on call", None) in told(found)
    assert found.to_reply()["memories"][0]["in"] == "project"


async def test_two_owners_of_one_kind_are_told_apart_by_their_names(memory: Memory) -> None:
    scope = Owners(shared=("handbook", "wines")).scope("anna")
    await learn(memory, scope.only(Owner.shared("handbook")), "Travel is booked through the travel desk")
    await learn(memory, scope.only(Owner.shared("wines")), "Port travels badly after it is opened")

    found = await memory.recall.search(scope, "travel")

    assert dict(told(found)) == {
        "Travel is booked through the travel desk": "shared:handbook",
        "Port travels badly after it is opened": "shared:wines",
    }


async def test_the_same_fact_of_two_owners_is_returned_once(memory: Memory, anna: Scope) -> None:
    await learn(memory, anna, "The office opens at eight")
    await learn(memory, anna.only(Owner.team("acme")), "The office opens at eight")

    found = await memory.recall.search(Owners(team="acme").scope("anna"), "When does the office open?")

    assert [text for text, _ in told(found)] == ["The office opens at eight"]


async def test_a_plain_scope_finds_nothing_of_projects_agents_and_teams(memory: Memory, anna: Scope) -> None:
    for owner in (Owner.project("anna", "web"), Owner.agent("anna", "travel"), Owner.team("acme"), Owner.shared("all")):
        await learn(memory, anna.only(owner), f"The secret word of the {owner.kind} is {owner.name}")

    assert told(await memory.recall.search(anna, "secret word")) == []


async def test_a_question_without_a_subject_names_the_best_of_all_owners(memory: Memory, anna: Scope) -> None:
    await learn(memory, anna, "Anna has a cat")
    await learn(memory, anna.only(Owner.project("anna", "acme/web")), "The shop runs on Postgres 16")

    found = await memory.recall.search(PROJECT.scope("anna"), "what do you know?")

    assert set(told(found)) == {("Anna has a cat", None), ("The shop runs on Postgres 16", "project")}


async def test_a_cursor_goes_on_through_the_memories_of_all_owners(memory: Memory, anna: Scope) -> None:
    project = Owner.project("anna", "acme/web")
    for number in range(12):
        await learn(memory, anna if number % 2 else anna.only(project), f"Release number {number} of the shop shipped")
    scope, seen, cursor = PROJECT.scope("anna"), list[str](), None

    while True:
        found = await memory.recall.search(scope, "Which releases of the shop shipped?", max_tokens=200, cursor=cursor)
        seen += [memory.text for memory in found.memories]
        cursor = found.cursor
        if cursor is None:
            break

    assert sorted(seen) == sorted(f"Release number {number} of the shop shipped" for number in range(12))


async def test_a_topic_is_found_whoever_has_it(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna.only(Owner.team("acme")), Statement("Standup is at ten", topic="work/meetings"))
    scope = Owners(team="acme").scope("anna")

    assert told(await memory.recall.search(scope, "when?", topic="work")) == [("Standup is at ten", "team")]
    with pytest.raises(NotFoundError, match="the known topics are work/"):
        await memory.recall.search(scope, "when?", topic="home")


async def test_conversations_are_searched_beside_a_project(memory: Memory) -> None:
    session = PROJECT.scope("anna", "s1")
    await memory.conversations.append(session, NewTurn(Role.USER, "The migration of the shop takes two weekends."))

    found = await memory.recall.search(PROJECT.scope("anna"), "How long does the migration take?")

    assert told(found) == [("The migration of the shop takes two weekends.", None)]
    assert (await memory.conversations.load(Scope("anna", "s1"))).turn_count == 1


async def test_an_agent_that_does_not_read_the_user_finds_neither_facts_nor_conversations(memory: Memory) -> None:
    await learn(memory, Scope("anna"), "Anna earns 5,000 a month")
    await memory.conversations.append(Scope("anna", "s1"), NewTurn(Role.USER, "I earn 5,000 a month, keep it quiet."))
    alone = Scope("anna", remember_in=Owner.agent("anna", "guest"))

    assert told(await memory.recall.search(alone, "What does Anna earn?")) == []
    page = await memory.context.load(alone)
    assert "5,000" not in page.text


async def test_each_further_owner_costs_one_read_and_a_plain_scope_none(
    open_table: OpenTable, path: Path, clock: FakeClock
) -> None:
    table = WatchedTable(await open_table(path))
    several = Owners(team="acme", project="web").scope("anna")
    async with running(table.as_table, now=clock) as memory:
        await learn(memory, Scope("anna"), "Anna has a cat")
        await learn(memory, several, "The shop sells cat food")

        async def reads(scope: Scope) -> tuple[int, int]:
            await memory.recall.search(scope, "cat")
            table.calls.clear()
            await memory.recall.search(scope, "cat")
            return table.calls["get"], table.calls["query"] + table.calls["find"]

        plain, further = await reads(Scope("anna")), await reads(several)
        table.calls.clear()
        await learn(memory, Scope("anna"), "Anna has a dog")

    assert plain == (1, 0)
    assert further == (3, 0)
    assert table.calls["write"] == 1
