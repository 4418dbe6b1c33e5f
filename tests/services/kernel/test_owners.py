"""Hundreds of owners with hostile names on one table: each reads exactly what is its own."""

import asyncio
import itertools

import pytest

from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.memory import Memory
from tests.schema.test_keys import hostile_triples

pytestmark = pytest.mark.anyio

OWNERS = 300


def hostile_owners() -> list[Scope]:
    owners: dict[str, Scope] = {}
    for user, _, _ in hostile_triples():
        try:
            owners.setdefault(user, Scope(user))
        except InvalidRequestError:
            continue
        if len(owners) == OWNERS:
            break
    return list(owners.values())


@pytest.fixture
async def written(memory: Memory, other_process: Memory) -> list[Scope]:
    owners = hostile_owners()
    writers = itertools.cycle([memory, other_process])
    await asyncio.gather(
        *(next(writers).facts.learn(owner, Statement(secret(owner), topic="secret")) for owner in owners),
        *(next(writers).preferences.set(owner, "secret", secret(owner)) for owner in owners),
    )
    return owners


def secret(owner: Scope) -> str:
    return f"The secret of {owner.user_id.encode().hex()}"


async def test_each_owner_reads_exactly_its_own(memory: Memory, written: list[Scope]) -> None:
    facts = await asyncio.gather(*(memory.facts.all(owner) for owner in written))
    preferences = await asyncio.gather(*(memory.preferences.all(owner) for owner in written))
    recalled = await asyncio.gather(*(memory.recall.search(owner, "secret") for owner in written))

    own = [secret(owner) for owner in written]
    assert len(set(own)) == OWNERS
    assert [[fact.text for fact in found] for found in facts] == [[text] for text in own]
    assert [[preference.value for preference in found] for found in preferences] == [[text] for text in own]
    assert [{told.text for told in found.memories} for found in recalled] == [{text, f"secret: {text}"} for text in own]


async def test_an_export_holds_nothing_of_another_owner(memory: Memory, written: list[Scope]) -> None:
    for owner in written[:40]:
        lines = [line async for line in memory.archive.export(owner)]

        assert len(lines) == 3
        assert all(secret(owner) in line for line in lines[1:])


async def test_forgetting_one_owner_leaves_all_others(memory: Memory, written: list[Scope]) -> None:
    gone, left = written[:20], written[20:]

    removed = [(await memory.erasure.forget_user(owner)).removed for owner in gone]

    assert removed == [3] * 20
    found = await asyncio.gather(*(memory.facts.all(owner) for owner in left))
    assert [len(facts) for facts in found] == [1] * len(left)
