"""Where a fact is written, corrected and forgotten, if a scope names several owners."""

from datetime import date

import pytest

from mcp_memory_server.domain.facts.fact import Outcome, Statement
from mcp_memory_server.domain.kernel.scope import Owner, OwnerKind, Owners, Scope
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.errors import InvalidRequestError, NotFoundError, NotPermittedError
from mcp_memory_server.memory import Memory

pytestmark = pytest.mark.anyio

WEB = Owner.project("anna", "web")
ACME = Owner.team("acme")
HANDBOOK = Owner.shared("handbook")
IN_WEB = Owners(project="web", team="acme", shared=("handbook",)).scope("anna")


async def known(memory: Memory, scope: Scope) -> list[str]:
    return [fact.text for fact in await memory.facts.all(scope)]


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        (Owners(), Owner.user("anna")),
        (Owners(project="web"), WEB),
        (Owners(agent="travel", project="web"), Owner.agent("anna", "travel")),
        (Owners(project="web", new_facts=OwnerKind.USER), Owner.user("anna")),
        (Owners(team="acme"), Owner.user("anna")),
        (Owners(team="acme", new_facts=OwnerKind.TEAM), ACME),
    ],
)
async def test_the_wiring_of_the_host_decides_where_facts_go(memory: Memory, owners: Owners, expected: Owner) -> None:
    await memory.facts.learn(owners.scope("anna"), Statement("Releases are cut on Tuesdays"))

    assert await known(memory, Scope("anna", remember_in=expected)) == ["Releases are cut on Tuesdays"]
    assert len(await known(memory, owners.scope("anna"))) == 1


async def test_preferences_are_shared_by_all_projects(memory: Memory, anna: Scope) -> None:
    await memory.preferences.set(IN_WEB, "tone", "brief")

    assert [one.value for one in await memory.preferences.all(anna)] == ["brief"]
    assert [one.value for one in await memory.preferences.all(Owners(project="other").scope("anna"))] == ["brief"]


async def test_who_the_user_is_is_known_in_every_project(memory: Memory) -> None:
    await memory.facts.learn(IN_WEB, Statement("Anna is allergic to peanuts."))

    elsewhere = await memory.facts.all(Owners(project="other").scope("anna"))

    assert [fact.text for fact in elsewhere] == ["Anna is allergic to peanuts."]


async def test_a_correction_stays_with_what_it_corrects(memory: Memory, anna: Scope) -> None:
    learned = await memory.facts.learn(anna, Statement("The team of Anna has six people", topic="work/team"))

    corrected = await memory.facts.learn(
        IN_WEB, Statement("The team of Anna has seven people", topic="work/team"), replaces=[learned.fact.id]
    )

    assert [fact.text for fact in corrected.superseded] == ["The team of Anna has six people"]
    assert await known(memory, anna) == ["The team of Anna has seven people"]
    assert await known(memory, anna.only(WEB)) == []


async def test_a_sentence_that_is_known_already_is_one_fact(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("The keys hang in the hall"))

    again = await memory.facts.learn(IN_WEB, Statement("The keys hang in the hall"))
    over = await memory.facts.learn(IN_WEB, Statement("The keys hang in the hall", until=date(2026, 1, 1)))

    assert again.outcome is Outcome.SUPPORTED
    assert over.fact.until == date(2026, 1, 1)
    assert await known(memory, anna.only(WEB)) == []


@pytest.mark.parametrize("owner", [ACME, HANDBOOK])
async def test_what_is_only_read_can_be_neither_corrected_nor_forgotten(memory: Memory, owner: Owner) -> None:
    learned = await memory.facts.learn(Scope("anna", remember_in=owner), Statement("Lunch is at noon"))
    fact_id = learned.fact.id

    with pytest.raises(NotPermittedError, match=f"belongs to {owner.label}, which is only read here"):
        await memory.erasure.forget(IN_WEB, fact_id)
    with pytest.raises(NotPermittedError):
        await memory.facts.learn(IN_WEB, Statement("Lunch is at one"), replaces=[fact_id])
    with pytest.raises(NotPermittedError):
        await memory.facts.end(IN_WEB, fact_id)
    assert await known(memory, Scope("ben", remember_in=owner)) == ["Lunch is at noon"]


async def test_a_member_corrects_what_the_team_shares_where_facts_go_to_the_team(memory: Memory) -> None:
    first = await memory.facts.learn(Scope("anna", remember_in=ACME), Statement("Lunch is at noon", topic="work/lunch"))
    ben = Owners(team="acme", new_facts=OwnerKind.TEAM).scope("ben")

    await memory.facts.learn(ben, Statement("Lunch is at one", topic="work/lunch"), replaces=[first.fact.id])

    assert await known(memory, Owners(team="acme").scope("anna")) == ["Lunch is at one"]


async def test_one_fact_cannot_replace_facts_of_two_owners(memory: Memory, anna: Scope) -> None:
    mine = await memory.facts.learn(anna, Statement("The server is called Moon"))
    projects = await memory.facts.learn(anna.only(WEB), Statement("The server is called Sun"))

    with pytest.raises(InvalidRequestError, match="one by one"):
        await memory.facts.learn(
            IN_WEB, Statement("The server is called Mars"), replaces=[mine.fact.id, projects.fact.id]
        )


async def test_a_scope_cannot_name_what_belongs_to_another_user() -> None:
    for owner in (Owner.user("ben"), Owner.agent("ben", "travel"), Owner.project("ben", "web")):
        with pytest.raises(InvalidRequestError, match="of another user"):
            Scope("anna", remember_in=owner)
        with pytest.raises(InvalidRequestError, match="of another user"):
            Scope("anna", reads=(owner,))


async def test_what_a_project_forgets_is_not_recalled_from_conversations_either(memory: Memory, anna: Scope) -> None:
    learned = await memory.facts.learn(IN_WEB, Statement("The pilot customer is Globex"))
    said = NewTurn(Role.USER, "The pilot customer is Globex")
    await memory.conversations.append(Scope("anna", "s1"), said)

    await memory.erasure.forget(IN_WEB, learned.fact.id[:8])

    for scope in (IN_WEB, anna, Owners(project="other").scope("anna")):
        found = await memory.recall.search(scope, "Who is the pilot customer?")
        assert "Globex" not in str(found.to_reply())


async def test_erasing_a_user_erases_their_agents_and_projects_and_no_team(memory: Memory, anna: Scope) -> None:
    owners = [WEB, Owner.agent("anna", "travel"), ACME, HANDBOOK]
    for owner in owners:
        await memory.facts.learn(anna.only(owner), Statement(f"Known to {owner.label}"))
    bens = Scope("ben", remember_in=Owner.project("ben", "web"))
    await memory.facts.learn(bens, Statement("Ben builds it"))

    await memory.erasure.forget_user(anna)

    left = [await known(memory, anna.only(owner)) for owner in owners]
    assert left == [[], [], ["Known to team:acme"], ["Known to shared:handbook"]]
    assert await known(memory, bens) == ["Ben builds it"]


async def test_a_teams_memory_is_erased_as_a_whole(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna.only(ACME), Statement("Lunch is at noon"))
    await memory.facts.learn(anna, Statement("Anna has a cat"))

    removed = await memory.erasure.forget_owner(anna.only(ACME))

    assert removed >= 1
    assert await known(memory, Owners(team="acme").scope("anna")) == ["Anna has a cat"]
    with pytest.raises(InvalidRequestError):
        await memory.erasure.forget_owner(anna)


async def test_an_export_of_a_project_is_imported_into_shared_knowledge(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna.only(WEB), Statement("The shop runs on Postgres 16"))
    await memory.preferences.set(anna, "tone", "brief")
    lines = [line async for line in memory.archive.export(anna.only(WEB))]

    imported = await memory.archive.import_(anna.only(HANDBOOK), lines)

    assert imported.added == 1
    assert await known(memory, Scope("ben", remember_in=HANDBOOK)) == ["The shop runs on Postgres 16"]


async def test_an_id_that_nobody_has_is_not_found(memory: Memory) -> None:
    with pytest.raises(NotFoundError):
        await memory.erasure.forget(IN_WEB, "0123456789ab")
    with pytest.raises(NotFoundError):
        await memory.facts.end(IN_WEB, "0123456789ab")
