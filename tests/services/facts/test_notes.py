"""Notes on a real file: newest first, for as long as their kind lives."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.facts.notes import NoteKind
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.memory import Memory
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

SECOND = timedelta(seconds=1)


async def test_notes_are_listed_newest_first_and_by_kind(memory: Memory, anna: Scope, clock: FakeClock) -> None:
    await memory.notes.add(anna, NoteKind.FEEDBACK, "too long")
    clock.advance(SECOND)
    await memory.notes.add(anna, NoteKind.PATTERN, "asks at night")
    clock.advance(SECOND)
    await memory.notes.add(Scope("anna", "s1"), NoteKind.FEEDBACK, "well done")

    everything, feedback = await memory.notes.all(anna), await memory.notes.all(anna, NoteKind.FEEDBACK)

    assert [note.text for note in everything] == ["well done", "asks at night", "too long"]
    assert [(note.text, note.session_id) for note in feedback] == [("well done", "s1"), ("too long", None)]


@pytest.mark.parametrize(("kind", "days"), [(NoteKind.FEEDBACK, 180), (NoteKind.PATTERN, 30)])
async def test_a_note_is_gone_at_the_very_second(
    memory: Memory, anna: Scope, clock: FakeClock, kind: NoteKind, days: int
) -> None:
    await memory.notes.add(anna, kind, "peculiar")

    clock.advance(timedelta(days=days) - SECOND)
    before = (len(await memory.notes.all(anna)), len((await memory.recall.search(anna, "peculiar")).memories))
    clock.advance(SECOND)
    after = (len(await memory.notes.all(anna)), len((await memory.recall.search(anna, "peculiar")).memories))

    assert (before, after) == ((1, 1), (0, 0))


async def test_notes_are_part_of_the_snapshot(memory: Memory, anna: Scope) -> None:
    await memory.notes.add(anna, NoteKind.PATTERN, "asks at night")

    assert "## Patterns\n- asks at night" in (await memory.context.load(anna)).text
