"""Forgotten text is no longer in the files, neither in the database nor in its log."""

from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server.domain.facts.fact import Permanence, Source, Statement
from mcp_memory_server.domain.facts.notes import NoteKind
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.memory import Memory
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

SECRET = "Xyzzy Partners"


def files_with(secret: str, path: Path) -> list[str]:
    return [file.name for file in path.parent.iterdir() if secret.encode() in file.read_bytes()]


async def test_a_forgotten_fact_is_not_in_the_files(memory: Memory, anna: Scope, path: Path) -> None:
    fact = (await memory.facts.learn(anna, Statement(SECRET, topic="work/client"))).fact
    written = files_with(SECRET, path)

    await memory.erasure.forget(anna, fact.id)

    assert written != []
    assert files_with(SECRET, path) == []


async def test_its_history_and_its_candidates_are_not_in_the_files(memory: Memory, anna: Scope, path: Path) -> None:
    await memory.facts.learn(anna, Statement(f"Ana works for {SECRET}", topic="work/employer"))
    await memory.facts.learn(
        anna, Statement(f"Ana works for {SECRET} and Sons", topic="work/employer", source=Source.INFERRED)
    )
    fact = (await memory.facts.learn(anna, Statement("Ana works for Acme", topic="work/employer"))).fact

    await memory.erasure.forget(anna, fact.id)

    assert files_with(SECRET, path) == []


async def test_among_many_others_it_is_not_in_the_files(memory: Memory, anna: Scope, path: Path) -> None:
    for number in range(60):
        await memory.facts.learn(anna, Statement(f"{'padding ' * 20}{number}"))
    fact = (await memory.facts.learn(anna, Statement(SECRET))).fact
    await memory.facts.learn(anna, Statement(SECRET))

    await memory.erasure.forget(anna, fact.id)

    assert files_with(SECRET, path) == []
    assert files_with("padding", path) != []


async def test_it_is_not_in_the_files_although_another_process_has_them_open(
    memory: Memory, other_process: Memory, anna: Scope, path: Path
) -> None:
    fact = (await memory.facts.learn(anna, Statement(SECRET))).fact
    await other_process.recall.search(anna, "Xyzzy")

    await other_process.erasure.forget(anna, fact.id)

    assert files_with(SECRET, path) == []


async def test_nothing_of_a_forgotten_user_is_in_the_files(memory: Memory, path: Path) -> None:
    owner = Scope("anna-with-a-name-of-her-own")
    await memory.facts.learn(owner, Statement(SECRET, topic="work/client"))
    await memory.facts.learn(owner, Statement("Another client", topic="work/client"))
    await memory.preferences.set(owner, "client", SECRET)
    await memory.notes.add(owner, NoteKind.FEEDBACK, SECRET)

    await memory.erasure.forget_user(owner)

    assert files_with(SECRET, path) == []
    assert files_with(owner.user_id, path) == []


async def test_what_had_expired_before_is_not_in_the_files_either(
    memory: Memory, anna: Scope, path: Path, clock: FakeClock
) -> None:
    await memory.facts.learn(anna, Statement(SECRET, permanence=Permanence.TRANSIENT))
    clock.advance(timedelta(days=15))

    await memory.erasure.forget_user(anna)

    assert files_with(SECRET, path) == []


async def test_an_error_message_does_not_repeat_a_secret(memory: Memory, anna: Scope) -> None:
    fact = (await memory.facts.learn(anna, Statement(SECRET))).fact
    await memory.erasure.forget(anna, fact.id)

    with pytest.raises(Exception, match="forgotten") as refusal:
        await memory.facts.learn(anna, Statement(SECRET))

    assert SECRET not in str(refusal.value)
