"""Whatever the names of owners are, a scope finds what its own owners know, and nothing else."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.kernel.scope import Owner, Scope
from mcp_memory_server.memory import Memory
from mcp_memory_server.wiring import running
from tests.clock import FakeClock
from tests.stores.tables import SqliteAddress

NAMES = st.lists(st.sampled_from(["a", "b", "~", "#", "%7E", "~agent~", "~team~", "\x00", "é"]), min_size=1, max_size=4)
IDS = NAMES.map("".join).filter(str.strip)
BY_MAKER = {
    "user": Owner.user,
    "team": Owner.team,
    "shared": Owner.shared,
    "agent": lambda one: Owner.agent("a", one),
    "agent of ~": lambda one: Owner.agent("~", one),
    "project": lambda one: Owner.project("a", one),
}
OWNERS = st.lists(
    st.builds(lambda maker, one: BY_MAKER[maker](one), st.sampled_from(sorted(BY_MAKER)), IDS),
    min_size=2,
    max_size=5,
    unique=True,
)


@settings(max_examples=30, deadline=None)
@given(OWNERS, st.sampled_from(["a", "~", "~team~a"]), st.data())
def test_a_scope_finds_what_its_owners_know_and_nothing_else(
    owners: Sequence[Owner], user: str, data: st.DataObject
) -> None:
    allowed = [owner for owner in owners if owner.private_to in (None, user)]
    reads = data.draw(st.lists(st.sampled_from(allowed), unique=True)) if allowed else []
    scope = Scope(user, reads=tuple(reads))

    found, page, turn = anyio.run(_found, owners, scope)

    expected = {_secret(number) for number, owner in enumerate(owners) if owner in scope.readable}
    assert found == expected
    assert {secret for secret in map(_secret, range(len(owners))) if secret in page} == expected
    assert {secret for secret in map(_secret, range(len(owners))) if secret in turn} == expected


async def _found(owners: Sequence[Owner], scope: Scope) -> tuple[set[str], str, str]:
    clock = FakeClock()
    with tempfile.TemporaryDirectory() as folder:
        table = await SqliteAddress(Path(folder) / "memory.db").open(clock)
        async with running(table, now=clock) as memory:
            for number, owner in enumerate(owners):
                await _learn(memory, owner, _secret(number))
            recalled = await memory.recall.search(scope, "What is the code word?", max_tokens=2_000)
            page = await memory.context.load(scope, max_tokens=2_000)
            turn = await memory.context.for_turn(scope, "What is the code word?", max_tokens=1_000)
        await table.close()
    return {one.text for one in recalled.memories}, page.text, "\n".join((*turn.always, *turn.matches))


async def _learn(memory: Memory, owner: Owner, text: str) -> None:
    await memory.facts.learn(Scope(owner.private_to or "nobody", remember_in=owner), Statement(text))


def _secret(number: int) -> str:
    return f"The code word is {['amber', 'birch', 'cedar', 'dune', 'ember'][number]}."
