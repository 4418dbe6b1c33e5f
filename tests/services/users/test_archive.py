"""A memory can be exported and imported elsewhere unchanged, any number of times."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from mcp_memory_server.domain.facts.fact import Outcome, Permanence, Source, Statement, fact_id
from mcp_memory_server.domain.facts.notes import NoteKind
from mcp_memory_server.domain.facts.preferences import SetBy
from mcp_memory_server.domain.kernel.items import Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import ForgottenError
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema import keys
from mcp_memory_server.services.users.archive import Imported
from tests.clock import FakeClock
from tests.services.conftest import OpenMemory

pytestmark = pytest.mark.anyio

BEN = Scope("ben#/ø")


async def exported(memory: Memory, owner: Scope) -> list[str]:
    return [line async for line in memory.archive.export(owner)]


async def memories(memory: Memory, owner: Scope) -> list[Any]:
    header, *lines = [json.loads(line) for line in await exported(memory, owner)]
    assert header["format"] == "mcp-memory-server"
    return lines


async def fill(memory: Memory, owner: Scope, clock: FakeClock) -> None:
    """Store at least one memory of every kind."""
    hidden = await memory.facts.learn(owner, Statement("Has a secret"))
    for text in ("Ana lives in Bern", "Ana lives in Basel"):
        await memory.facts.learn(owner, Statement(text, topic="home #1/city", session_id="s1", turn_id="t1"))
        clock.advance(timedelta(seconds=1.5))
    await memory.facts.learn(owner, Statement("Ana lives in Chur", topic="home #1/city", source=Source.INFERRED))
    await memory.facts.learn(owner, Statement("東京 🦊\nline two"))
    await memory.facts.learn(owner, Statement("Travels to Rome", permanence=Permanence.TRANSIENT))
    await memory.preferences.set(owner, "tone#~/%", "brief", set_by=SetBy.DEFAULT)
    await memory.notes.add(Scope(owner.user_id, "s1"), NoteKind.FEEDBACK, "too long")
    await memory.notes.add(owner, NoteKind.PATTERN, "asks at night")
    await memory.erasure.forget(owner, hidden.fact.id)
    later_release = {"text": "of a later release", "mood": {"raw": b"\x00\xff", "n": [1, None, 0.5]}}
    await memory.table.put(Put(keys.legacy_fact_key(owner, "later"), {**later_release, "topic": "later"}))


async def test_an_import_into_another_file_is_equal(
    memory: Memory, anna: Scope, clock: FakeClock, open_file: OpenMemory, tmp_path: Path
) -> None:
    await fill(memory, anna, clock)
    elsewhere = await open_file(tmp_path / "elsewhere.db")

    done = await elsewhere.archive.import_(anna, await exported(memory, anna))

    assert done == Imported(added=10, known=0, forgotten=0)
    assert await memories(elsewhere, anna) == await memories(memory, anna)


async def test_an_import_for_another_user_is_equal_and_belongs_to_that_user(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    await fill(memory, anna, clock)

    await memory.archive.import_(BEN, await exported(memory, anna))
    await memory.erasure.forget_user(anna)

    assert await memories(memory, anna) == []
    assert [fact.text for fact in await memory.facts.history(BEN, "home #1/city")] == [
        "Ana lives in Bern",
        "Ana lives in Basel",
    ]
    assert [preference.key for preference in await memory.preferences.all(BEN)] == ["tone#~/%"]
    assert {note.text for note in await memory.notes.all(BEN)} == {"too long", "asks at night"}
    with pytest.raises(ForgottenError):
        await memory.facts.learn(BEN, Statement("Has a secret"))


async def test_the_times_of_facts_and_what_superseded_them_come_along(
    memory: Memory, anna: Scope, clock: FakeClock
) -> None:
    since, until = date(2015, 1, 1), date(2026, 12, 31)
    acme = Statement("Ana works at Acme", topic="work/employer", since=since, until=until, remind_on=until)
    await memory.facts.learn(anna, acme)
    clock.advance(timedelta(days=1))
    await memory.facts.learn(anna, Statement("Ana works at Globex", topic="work/employer"))
    gym = (await memory.facts.learn(anna, Statement("Goes to the gym"))).fact
    await memory.facts.end(anna, gym.id, date(2026, 1, 31))

    await memory.archive.import_(BEN, await exported(memory, anna))

    assert await memory.facts.all(BEN, past=True) == await memory.facts.all(anna, past=True)
    assert await memory.facts.history_of(BEN, fact_id("Ana works at Globex")) == await memory.facts.history(
        anna, "work/employer"
    )


async def test_an_import_can_be_repeated(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    await fill(memory, anna, clock)
    lines = await exported(memory, anna)

    again = await memory.archive.import_(anna, lines)
    first, second = await memory.archive.import_(BEN, lines), await memory.archive.import_(BEN, lines)

    assert again == Imported(added=0, known=10, forgotten=0)
    assert (first.added, second.added, second.known) == (10, 0, 10)
    assert await memories(memory, BEN) == await memories(memory, anna)


async def test_stored_memories_are_not_overwritten(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    await memory.preferences.set(anna, "tone", "brief")
    lines = await exported(memory, anna)
    await memory.preferences.set(anna, "tone", "warm")

    await memory.archive.import_(anna, lines)

    assert [preference.value for preference in await memory.preferences.all(anna)] == ["warm"]


async def test_forgotten_statements_are_not_imported(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Ana lives in Bern", topic="city"))
    fact = (await memory.facts.learn(anna, Statement("Ana lives in Basel", topic="city"))).fact
    await memory.facts.learn(anna, Statement("Ana lives in Chur", topic="city", source=Source.INFERRED))
    lines = await exported(memory, anna)
    await memory.erasure.forget(anna, fact.id)

    done = await memory.archive.import_(anna, lines)

    assert done == Imported(added=0, known=0, forgotten=3)
    assert await memory.facts.all(anna) == await memory.facts.history(anna, "city") == []


async def test_imported_memories_are_recalled_at_once_in_every_process(
    memory: Memory, other_process: Memory, anna: Scope
) -> None:
    await memory.facts.learn(anna, Statement("Ana lives in Bern"))
    lines = await exported(memory, anna)
    assert (await other_process.recall.search(BEN, "Bern")).memories == ()

    await memory.archive.import_(BEN, lines)

    assert len((await other_process.recall.search(BEN, "Bern")).memories) == 1


async def test_a_large_memory_is_imported_completely_and_reports_progress(memory: Memory, anna: Scope) -> None:
    lines = [f'{{"type":"relation","from":"a{n}","relationType":"knows","to":"b"}}' for n in range(1300)]
    steps: list[tuple[int, int]] = []

    await memory.archive.import_(anna, lines, lambda done, of: steps.append((done, of)))
    moved = await memory.archive.import_(BEN, await exported(memory, anna))

    assert moved.added == 1300
    assert steps[-1] == (1300, 1300)
    assert steps == sorted(steps)


async def test_an_imported_fact_is_supported_and_superseded_like_any_other(memory: Memory, anna: Scope) -> None:
    for text, topic in (("Ana lives in Bern", "city"), ("Has a cat", None)):
        await memory.facts.learn(anna, Statement(text, topic=topic))
    await memory.archive.import_(BEN, await exported(memory, anna))

    again = await memory.facts.learn(BEN, Statement("Has a cat"))
    other = await memory.facts.learn(BEN, Statement("Ana lives in Basel", topic="city"))

    assert (again.outcome, other.outcome) == (Outcome.SUPPORTED, Outcome.SUPERSEDED)
